import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isDataFolder, openDataFolder } from './data-folder.ts';
import { tryLock } from './data-lock.ts';
import { takeDown } from './down.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

it('makes a missing folder that only its owner may enter', () => {
  const folder = join(createTemporaryFolder(), 'new');
  expect(openDataFolder(folder)).toBe(folder);
  expect(modeOf(folder)).toBe(0o700);
});

it('opens a folder again that a server has used, or that holds nothing but images', () => {
  const used = openDataFolder(createTemporaryFolder());
  tryLock(used)?.release();
  writeFileSync(join(used, 'skerry.db'), '');
  expect(openDataFolder(used)).toBe(used);
  const prepared = createTemporaryFolder();
  mkdirSync(join(prepared, 'images'));
  expect(openDataFolder(prepared)).toBe(prepared);
});

it('leaves a folder alone that holds something else, also when that has a run folder like /', async () => {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'run', 'lock'), { recursive: true, mode: 0o755 });
  mkdirSync(join(folder, 'etc'), { mode: 0o755 });
  const before = modeOf(folder);
  expect(() => openDataFolder(folder)).toThrow(/holds other things/);
  await expect(takeDown({ dataDir: folder, deadlineMs: 1_000, say: () => undefined })).rejects.toThrow(
    /is not a data folder/,
  );
  expect(modeOf(folder)).toBe(before);
  expect(isDataFolder(folder)).toBe(false);
});
