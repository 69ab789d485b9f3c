import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hashFile, readLayer } from './read-tree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-tree-'));
});
// Node cannot remove a path that is too long for the kernel.
afterEach(() => void execFileSync('rm', ['-rf', folder]));

const readAll = async (): Promise<string[]> => {
  const paths: string[] = [];
  for await (const { path } of readLayer(folder, { baseId: 0 })) paths.push(path);
  return paths;
};

/** Nested folders, made step by step as the path of the last one is too long. */
const makeDeep = (count: number, name: string): void => {
  let held = openSync(folder, 'r');
  for (let depth = 0; depth < count; depth += 1) {
    const next = `/proc/self/fd/${held}/${name}`;
    mkdirSync(next);
    const inner = openSync(next, 'r');
    closeSync(held);
    held = inner;
  }
  closeSync(held);
};

it('lists folders before their content', async () => {
  makeDeep(3, 'a');
  expect(await readAll()).toEqual(['/a', '/a/a', '/a/a/a']);
});

it("refuses paths that are longer than the kernel's limit, with a short message", async () => {
  makeDeep(20, 'n'.repeat(250));
  await expect(readAll()).rejects.toMatchObject({
    code: 'unsupported',
    message: 'a path is longer than 4096',
  });
});

it('refuses folders that are nested too deep, with a short message', async () => {
  makeDeep(1_100, 'n');
  await expect(readAll()).rejects.toMatchObject({
    code: 'unsupported',
    message: 'a file is nested in more than 1000 folders',
  });
});

it('reads nothing of a file that was replaced by a folder', async () => {
  expect(await hashFile(Buffer.from(folder))).toBe('');
});

it('ends when it is aborted, also within a file', async () => {
  makeDeep(3, 'a');
  const abort = new AbortController();
  const entries = readLayer(folder, { baseId: 0, signal: abort.signal });
  expect(await entries.next()).toMatchObject({ done: false });
  abort.abort();
  await expect(entries.next()).rejects.toMatchObject({ name: 'AbortError' });
  const file = join(folder, 'file');
  writeFileSync(file, 'text');
  await expect(hashFile(Buffer.from(file), abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
});
