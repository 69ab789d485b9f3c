import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid } from 'node:process';
import { afterAll, expect, it } from 'vitest';
import { createSandboxRoot } from './sandbox-root.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-root-')));
mkdirSync(join(folder, 'a/b'), { recursive: true });
writeFileSync(join(folder, 'a/file'), '');
symlinkSync('a', join(folder, 'relative'));
symlinkSync(join(folder, 'a'), join(folder, 'absolute'));
symlinkSync('loop', join(folder, 'loop'));
symlinkSync('/nowhere', join(folder, 'dangling'));
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ['a/b', 'a/b'],
  ['relative/b', 'a/b'],
  ['absolute/../relative/./b//', 'a/b'],
  ['absolute/file', 'a/file'],
  ['a/file/../b', undefined],
  ['loop', undefined],
  ['dangling', undefined],
  ['missing/../a', undefined],
])('follows the links of %s to %s', (path, found) => {
  const root = createSandboxRoot(pid);
  expect(root.resolve(`${folder}/${path}`)).toBe(found && `${folder}/${found}`);
});

it('finds nothing over a link: the host would follow it', () => {
  const root = createSandboxRoot(pid);
  expect(root.find(`${folder}/a/file`)?.isFile()).toBe(true);
  expect(root.find(`${folder}/relative`)?.isSymbolicLink()).toBe(true);
  expect(root.find(`${folder}/relative/file`)).toBeUndefined();
  expect(root.find(`${folder}/a/file/x`)).toBeUndefined();
});

it.each([
  ['a/b', { folder: 'a/b', isWhole: true, isBlocked: false }],
  ['a/c/d', { folder: 'a', isWhole: false, isBlocked: false }],
  ['a/file/d', { folder: 'a', isWhole: false, isBlocked: true }],
  ['relative/b', { folder: '', isWhole: false, isBlocked: true }],
  ['dangling/b', { folder: '', isWhole: false, isBlocked: true }],
])('says where %s is, or could be made', (path, place) => {
  const found = createSandboxRoot(pid).findFolder(`${folder}/${path}`);
  expect(found).toEqual({ ...place, folder: join(folder, place.folder) });
});
