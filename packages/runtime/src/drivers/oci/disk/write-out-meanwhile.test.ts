import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeOutMeanwhile } from './write-out-meanwhile.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'skerry-write-out-'));
});
afterEach(() => rmSync(base, { recursive: true }));

it('looks for large files repeatedly, in a folder that is made meanwhile, until the work is done', async () => {
  const folder = join(base, 'later');
  const asked: string[] = [];
  const isLarge = (name: string): boolean => {
    asked.push(name);
    return name === 'large';
  };
  const text = await writeOutMeanwhile({ folder, isLarge }, async () => {
    await sleep(60);
    await mkdir(folder);
    await writeFile(join(folder, 'large'), 'abc');
    await writeFile(join(folder, 'small'), '');
    while (asked.length < 6) await sleep(5);
    return readFile(join(folder, 'large'), 'utf8');
  });
  expect(text).toBe('abc');
  const count = asked.length;
  await sleep(80);
  expect(asked.length).toBe(count);
});

it('rejects as the work does, and with no failure of its own', async () => {
  const options = { folder: base, isLarge: () => true };
  await writeFile(join(base, 'file'), 'abc');
  await mkdir(join(base, 'folder'));
  const failed = writeOutMeanwhile(options, async () => {
    await sleep(60);
    throw new Error('no room');
  });
  await expect(failed).rejects.toThrow('no room');
  await expect(writeOutMeanwhile(options, () => rm(join(base, 'file')))).resolves.toBeUndefined();
});
