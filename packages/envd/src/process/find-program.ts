import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { User } from '../system/users.ts';
import { ExecFailure, notFound } from './exec-failure.ts';
import { isReachable, mayExecute } from './working-directory.ts';

const look = (path: string, user: User): 'executable' | 'refused' | 'missing' => {
  try {
    const real = realpathSync(path);
    if (!isReachable(dirname(real), user)) return 'missing';
    const stats = statSync(real);
    return stats.isFile() && mayExecute(stats, user) ? 'executable' : 'refused';
  } catch {
    // No such file, a loop of links or a file in place of a folder: the search continues.
    return 'missing';
  }
};

/**
 * Path of the program that execvp(3) would execute for this user. Throws `ExecFailure` when there is none or it must not be
 * executed. For callers that cannot see why their exec failed.
 */
export const findProgram = (options: { cmd: string; cwd: string; path: string; user: User }): string => {
  const { cmd, cwd, path, user } = options;
  const candidates = cmd.includes('/')
    ? [resolve(cwd, cmd)]
    : path.split(':').map((folder) => resolve(cwd, folder, cmd));
  const found = candidates.map((candidate) => ({ candidate, state: look(candidate, user) }));
  const program = found.find(({ state }) => state === 'executable');
  if (program !== undefined) return program.candidate;
  const isRefused = found.some(({ state }) => state === 'refused');
  throw isRefused ? new ExecFailure(126, `${cmd}: Permission denied`) : notFound(cmd);
};
