import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { openDataFolder } from './data-folder.ts';
import { isLocked, lockDataFolder, tryLock } from './data-lock.ts';

const newFolder = (): string => openDataFolder(createTemporaryFolder());

it('allows one holder at a time, and the next one after release', async () => {
  const folder = newFolder();
  const lock = await lockDataFolder(folder);
  expect(tryLock(folder)).toBeUndefined();
  await expect(lockDataFolder(folder, { waitMs: 100 })).rejects.toThrow(/another skerry is using/);
  lock.release();
  const next = tryLock(folder);
  expect(next).toBeDefined();
  next?.release();
});

it('is visible to processes that do not take it, and does not block them', async () => {
  const folder = newFolder();
  expect(isLocked(folder)).toBe(false);
  const lock = tryLock(folder);
  expect(isLocked(folder)).toBe(true);
  lock?.release();
  expect(isLocked(folder)).toBe(false);
  const next = tryLock(folder);
  expect(next).toBeDefined();
  next?.release();
});

it('is free again after its holder was killed', async () => {
  const folder = newFolder();
  const program = `const { tryLock } = await import(${JSON.stringify(join(import.meta.dirname, 'data-lock.ts'))});
    console.log(tryLock(${JSON.stringify(folder)}) !== undefined); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(holder.stdout, 'data')) as [Buffer];
  expect(line.toString().trim()).toBe('true');
  expect(tryLock(folder)).toBeUndefined();
  expect(isLocked(folder)).toBe(true);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = tryLock(folder);
  expect(lock).toBeDefined();
  lock?.release();
});
