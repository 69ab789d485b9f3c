import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid } from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { libc } from '../../../../kernel/native.ts';
import { O_PATH } from '../../../../kernel/syscalls.ts';
import { hasUnreadEvents } from './unread-events.ts';

const createWatch = libc.func('int inotify_init1(int)');
const addWatch = libc.func('int inotify_add_watch(int, const char *, unsigned int)');
/** linux/inotify.h */
const IN_CREATE = 0x100;

/** A watch of an empty folder in this process. */
const watchFolder = (): { folder: string; fd: number } => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-events-'));
  const fd = createWatch(constants.O_NONBLOCK) as number;
  onTestFinished(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  expect(addWatch(fd, folder, IN_CREATE)).toBeGreaterThan(0);
  return { folder, fd };
};

it('finds the events of a watch until they are read', async () => {
  const { folder, fd } = watchFolder();
  expect(await hasUnreadEvents([pid])).toBe(false);
  writeFileSync(join(folder, 'new'), '');
  expect(await hasUnreadEvents([pid])).toBe(true);
  expect(readSync(fd, Buffer.alloc(4096))).toBeGreaterThan(0);
  expect(await hasUnreadEvents([pid])).toBe(false);
});

it('refuses a watch that is open as a path only', async () => {
  const { fd } = watchFolder();
  const path = openSync(`/proc/self/fd/${fd}`, O_PATH);
  onTestFinished(() => closeSync(path));
  await expect(hasUnreadEvents([pid])).rejects.toMatchObject({
    code: 'blocked',
    obstacle: { kind: 'path_only', process: { pid } },
  });
});
