import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeTree } from './remove-tree.ts';
import { nestFolders } from './testing/nest-folders.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'remove-tree-'));
});
afterEach(() => removeTree(dir));

it('removes folders that are nested deeper than a path can be long', async () => {
  const path = join(dir, '-tree');
  mkdirSync(path);
  nestFolders(path);
  await removeTree(path);
  expect(readdirSync(dir)).toEqual([]);
});

it('removes a link and not its target', async () => {
  mkdirSync(join(dir, 'kept'));
  writeFileSync(join(dir, 'kept/file'), 'kept');
  symlinkSync(join(dir, 'kept'), join(dir, 'link'));
  await removeTree(join(dir, 'link'));
  expect(readdirSync(dir)).toEqual(['kept']);
  expect(readFileSync(join(dir, 'kept/file'), 'utf8')).toBe('kept');
});

it('does nothing for a path that does not exist', async () => {
  await removeTree(join(dir, 'none'));
});

it('rejects with the path that could not be removed', async () => {
  await expect(removeTree('/proc/self/task')).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('/proc/self/task'),
  });
});
