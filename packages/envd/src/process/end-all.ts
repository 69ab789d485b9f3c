import { readFileSync } from 'node:fs';
import { ApiError } from '@skerry/contract/error';
import { whenExited } from './live-children.ts';

/** Pid 1 of a sandbox, which no other machine has. */
const INIT = '/.envd/tini\0';

/**
 * Kills every process of the sandbox but this one and pid 1 as soon as the child of that pid has ended; at once when there is no such
 * child any more. Rejects with `not_implemented` for an agent that is not alone in its pid namespace.
 */
export const endAllWith = async (pid: number): Promise<void> => {
  if (!readFileSync('/proc/1/cmdline', 'latin1').startsWith(INIT))
    throw new ApiError(
      'unimplemented',
      'this agent is not in a sandbox, and does not end the processes of others',
    );
  await whenExited(pid);
  try {
    // Neither the caller nor pid 1 gets it: kill(2).
    process.kill(-1, 'SIGKILL');
  } catch (error) {
    // Nothing else runs.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
