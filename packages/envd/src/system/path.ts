import { posix } from 'node:path';
import { invalid } from '@skerry/contract/error';
import type { User } from './users.ts';

/**
 * Turns a path of a request into an absolute one: empty means `workdir` or else the user's home, `~` the home, and any
 * other relative path starts at the home too. The user decides only this; nothing is confined to the home.
 * Throws `invalid_argument` for `~other` and for a NUL byte.
 */
export const parsePath = (
  path: string,
  { user, workdir }: { user: User; workdir: string | undefined },
): string => {
  if (path.includes('\0')) throw invalid('path must not contain a NUL byte');
  if (path === '') return workdir === undefined ? user.home : posix.resolve(user.home, workdir);
  if (path === '~') return posix.resolve(user.home);
  if (path.startsWith('~/')) return posix.join(user.home, path.slice(2));
  if (path.startsWith('~')) {
    throw invalid(`path "${path}" names the home of another user; only "~" and "~/..." are expanded`);
  }
  return posix.resolve(user.home, path);
};
