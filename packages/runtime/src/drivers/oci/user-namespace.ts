import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import { systemPath } from '../../run-command.ts';

/** How many ids a sandbox has: 0 to 65,535 inside are `baseId` and up on the host, and belong to nothing else. */
export const ID_COUNT = 65_536;

/**
 * Resolves with a descriptor of a new user namespace whose root is `baseId` outside. The caller closes it. A namespace
 * lives as long as a descriptor of it; only making one takes a process, which is ended again here.
 *
 * That process has the id `baseId` itself, so that the namespace belongs to it. The kernel counts inotify instances
 * and the like for the owner of a namespace, too: if that were root, one sandbox could use up those of the host and of
 * all other sandboxes.
 */
export const openUserNamespace = async (baseId: number): Promise<number> => {
  const child = spawn('unshare', ['--user', 'cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    uid: baseId,
    gid: baseId,
    cwd: '/',
    env: { PATH: systemPath },
  });
  try {
    const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --user failed')));
    child.stdin.on('error', () => undefined);
    child.stdin.write('\n');
    // The echo comes from inside the new namespace.
    await Promise.race([once(child.stdout, 'data'), failed]);
    for (const map of ['uid_map', 'gid_map']) {
      writeFileSync(`/proc/${child.pid}/${map}`, `0 ${baseId} ${ID_COUNT}`);
    }
    return openSync(`/proc/${child.pid}/ns/user`, 'r');
  } finally {
    child.kill('SIGKILL');
  }
};
