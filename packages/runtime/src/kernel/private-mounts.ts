import { closeSync, openSync } from 'node:fs';
import { enterMounts, leaveMounts, O_PATH, returnToFolder } from './syscalls.ts';

/**
 * Calls `prepare`, which may change mounts, and then `act` while this thread has a copy of the host's mounts for
 * itself; a process that `act` starts keeps seeing that copy. The host's own mounts do not change. Starting the
 * process through `unshare` and a shell would do the same for three times the price of the process.
 *
 * Both must be synchronous: afterwards the thread is back among the host's mounts, in the folder where it was.
 */
export const inPrivateMounts = <T>(prepare: () => void, act: () => T): T => {
  const host = openSync('/proc/thread-self/ns/mnt', 'r');
  const folder = openSync('.', O_PATH);
  try {
    enterMounts();
    try {
      prepare();
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
