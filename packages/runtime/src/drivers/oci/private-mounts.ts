import { closeSync, openSync } from 'node:fs';
import { enterMounts, leaveMounts, returnToFolder, unmountEvery } from './syscalls.ts';

/**
 * Calls `act` while this thread sees a copy of the host's mounts in which `hidden` is not mounted; a process that is
 * started meanwhile keeps seeing that. The host's own mounts do not change. Starting the process through `unshare`, a
 * shell and `umount` would do the same for three times the price of the process.
 *
 * `act` must be synchronous: afterwards the thread is back among the host's mounts, in the folder where it was.
 */
export const withoutMount = <T>(hidden: string, act: () => T): T => {
  const host = openSync('/proc/thread-self/ns/mnt', 'r');
  const folder = openSync('.', 'r');
  try {
    enterMounts();
    try {
      unmountEvery(hidden);
      return act();
    } finally {
      leaveMounts(host);
      returnToFolder(folder);
    }
  } finally {
    closeSync(folder);
    closeSync(host);
  }
};
