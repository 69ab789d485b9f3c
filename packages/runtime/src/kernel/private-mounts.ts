import { closeSync, openSync } from 'node:fs';
import { returnOrAbort } from './return-or-abort.ts';
import { copyMounts, leaveMounts, O_PATH, returnToFolder, separateMounts } from './syscalls.ts';

/**
 * Calls `prepare`, which may change mounts, and then `act`, while this thread has a private copy of the host's mounts.
 * A process that `act` starts keeps that copy; the host's own mounts do not change. Starting the process through
 * `unshare` and a shell would do the same at three times the cost.
 *
 * Both must be synchronous. Afterwards the thread is back among the host's mounts, in the folder where it was; the
 * process aborts when that fails.
 */
export const inPrivateMounts = <T>(prepare: () => void, act: () => T): T => {
  const host = openSync('/proc/thread-self/ns/mnt', 'r');
  const folder = openSync('.', O_PATH);
  try {
    copyMounts();
    try {
      separateMounts();
      prepare();
      return act();
    } finally {
      returnOrAbort('the mounts of the host', () => {
        leaveMounts(host);
        returnToFolder(folder);
      });
    }
  } finally {
    closeSync(folder);
    closeSync(host);
  }
};
