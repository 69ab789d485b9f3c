import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, it, onTestFinished } from 'vitest';
import { writeWhole } from './write-whole.ts';

const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-whole-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

it('writes a file in one step, and through no link that has its name', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'precious'), 'mine');
  for (const name of ['file', 'file.part']) symlinkSync('precious', join(folder, name));
  await writeWhole(join(folder, 'file'), (into) => pipeline(Readable.from(['new']), into));
  expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('mine');
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('new');
  expect(readdirSync(folder).toSorted()).toEqual(['file', 'file.part', 'precious']);
});

it('leaves what was there when it fails, and nothing else', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'file'), 'old');
  const failing = writeWhole(join(folder, 'file'), async (into) => {
    into.write('half');
    throw new Error('interrupted');
  });
  await expect(failing).rejects.toThrow('interrupted');
  expect(readdirSync(folder)).toEqual(['file']);
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('old');
});
