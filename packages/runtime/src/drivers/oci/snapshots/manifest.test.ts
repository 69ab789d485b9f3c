import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { collectLayer, readManifest, writeManifest } from './manifest.ts';
import type { LayerEntry } from './tree-entry.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-manifest-'));
  path = join(folder, 'manifest');
});
afterEach(() => rmSync(folder, { recursive: true }));

const toFile = (name: string): LayerEntry => ({
  path: `/${name}`,
  type: 'file',
  mode: 0o644,
  uid: 0,
  gid: 0,
  sizeBytes: 1,
  sha256: createHash('sha256').update(name).digest('hex'),
});
// Some of each kind, and more than one piece of the file holds.
const entries: LayerEntry[] = [
  toFile('first'),
  { path: '/gone', type: 'removed' },
  { path: '/dir with\nline and ümlaut', type: 'directory', mode: 0o755, uid: 1, gid: 1, opaque: true },
  ...Array.from({ length: 1000 }, (_, number) => toFile(`file${number}`)),
  toFile('last'),
];
async function* each<T>(items: T[]): AsyncGenerator<T> {
  yield* items;
}
const expected = new Map(entries.map((entry) => [entry.path, entry]));
const damaged = (what: string) => ({ code: 'damaged', message: expect.stringContaining(what) });

it('holds one entry a line, and is summarized by its hash and their number', async () => {
  const summary = await writeManifest(path, each(entries));
  const text = readFileSync(path, 'utf8');
  expect(text).toBe(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  expect(summary).toEqual({
    sha256: createHash('sha256').update(text).digest('hex'),
    entryCount: entries.length,
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('is read as what was written, also when that is nothing', async () => {
  expect(await readManifest(path, await writeManifest(path, each(entries)))).toEqual(expected);
  await rm(path);
  expect(await readManifest(path, await writeManifest(path, each([])))).toEqual(new Map());
});

it('never replaces another file', async () => {
  await writeFile(path, 'other');
  await expect(writeManifest(path, each(entries))).rejects.toMatchObject({ code: 'EEXIST' });
  expect(readFileSync(path, 'utf8')).toBe('other');
});

it('is refused when it has changed or is gone', async () => {
  const summary = await writeManifest(path, each(entries));
  await appendFile(path, `${JSON.stringify(toFile('another'))}\n`);
  await expect(readManifest(path, summary)).rejects.toMatchObject(damaged(summary.sha256));
  await rm(path);
  await expect(readManifest(path, summary)).rejects.toMatchObject(damaged('cannot be read'));
});

it('has the same form as a layer that is collected without a file', async () => {
  expect(await collectLayer(each(entries))).toEqual(expected);
});
