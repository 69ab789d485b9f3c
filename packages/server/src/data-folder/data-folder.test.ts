import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { takeDown } from '../ending/take-down.ts';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { isDataFolder, openDataFolder, openImagesFolder } from './data-folder.ts';
import { tryLock } from './data-lock.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

it('creates a missing folder that only its owner may enter', () => {
  const folder = join(createTemporaryFolder(), 'new');
  expect(openDataFolder(folder)).toBe(folder);
  expect(modeOf(folder)).toBe(0o700);
});

it('reopens a folder that a server has used, or that contains only images', () => {
  const used = openDataFolder(createTemporaryFolder());
  tryLock(used)?.release();
  writeFileSync(join(used, 'skerry.db'), '');
  expect(openDataFolder(used)).toBe(used);
  const prepared = createTemporaryFolder();
  mkdirSync(join(prepared, 'images'));
  expect(openDataFolder(prepared)).toBe(prepared);
});

it.each([
  ['belongs to another user', (folder: string) => chownSync(folder, 1000, 1000), 'belongs to user 1000'],
  ['may be written by others', (folder: string) => chmodSync(folder, 0o777), 'may be written by every user'],
])('refuses a folder of data or images that %s, and changes nothing', (_what, change, reason) => {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'images'));
  change(folder);
  const before = modeOf(folder);
  expect(() => openDataFolder(folder)).toThrow(reason);
  expect(modeOf(folder)).toBe(before);
  change(join(folder, 'images'));
  expect(() => openImagesFolder(join(folder, 'images'))).toThrow(reason);
});

it('refuses a folder with other content, also when it has a run folder like /', async () => {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'run', 'lock'), { recursive: true, mode: 0o755 });
  mkdirSync(join(folder, 'etc'), { mode: 0o755 });
  const before = modeOf(folder);
  expect(() => openDataFolder(folder)).toThrow(/contains other files/);
  await expect(
    takeDown({ dataDir: folder, deadlineMs: 1_000, say: () => undefined, onHelperLine: () => undefined }),
  ).rejects.toThrow(/is not a data folder/);
  expect(modeOf(folder)).toBe(before);
  expect(isDataFolder(folder)).toBe(false);
});
