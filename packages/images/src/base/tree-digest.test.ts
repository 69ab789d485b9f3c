import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestTree } from './tree-digest.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-tree-digest-'));
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'folder/file'), 'x'.repeat(3_000_000));
  symlinkSync('folder', join(root, 'link'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('digestTree', () => {
  it('counts files and their bytes', async () => {
    expect(await digestTree(root)).toMatchObject({ fileCount: 1, sizeBytes: 3_000_000 });
  });

  it('does not change with times', async () => {
    const before = await digestTree(root);
    utimesSync(join(root, 'folder/file'), 5, 5);
    expect(await digestTree(root)).toEqual(before);
  });

  it.each<[string, () => void]>([
    ['the last byte of a file', () => writeFileSync(join(root, 'folder/file'), `${'x'.repeat(2_999_999)}y`)],
    ['a mode', () => chmodSync(join(root, 'folder'), 0o700)],
    ['an owner', () => chownSync(join(root, 'folder/file'), 5, 0)],
    ['a name', () => mkdirSync(join(root, 'folder/new'))],
    [
      'where a link points to',
      () => {
        unlinkSync(join(root, 'link'));
        symlinkSync('folder/', join(root, 'link'));
      },
    ],
  ])('changes with %s', async (_, change) => {
    const before = await digestTree(root);
    change();
    expect((await digestTree(root)).digest).not.toBe(before.digest);
  });

  it('rejects when the signal aborts', async () => {
    await expect(digestTree(root, { signal: AbortSignal.abort(new Error('no time')) })).rejects.toThrow(
      'no time',
    );
  });
});
