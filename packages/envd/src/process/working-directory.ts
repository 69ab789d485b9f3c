import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { invalid } from '@skerry/contract/error';
import type { User } from '../system/users.ts';

/** Search for a directory, execute for a file. */
const SEARCH = 0o1;

/** The permission bits that apply to this user: owner, group or others (path_resolution(7)). */
const bitsFor = ({ uid, gid, mode }: Stats, user: User): number => {
  if (uid === user.uid) return mode >> 6;
  return gid === user.gid || user.groups.includes(gid) ? mode >> 3 : mode;
};

/** Permission bits decide; access lists are not looked at. Root needs one bit of three (path_resolution(7)). */
export const mayExecute = (stats: Stats, user: User): boolean =>
  ((user.uid === 0 ? stats.mode | (stats.mode >> 3) | (stats.mode >> 6) : bitsFor(stats, user)) & SEARCH) !==
  0;

/** Whether the user may enter a directory, given by its real path, and all above it. Access lists are not looked at. */
export const isReachable = (path: string, user: User): boolean => {
  if (user.uid === 0) return true;
  for (let at = path; ; at = dirname(at)) {
    if ((bitsFor(statSync(at), user) & SEARCH) === 0) return false;
    if (at === '/') return true;
  }
};

/**
 * Checks that a process of this user may start in `path`, and throws `invalid_argument` when it is missing, no directory or
 * not accessible. Asked before the fork because the child enters the directory while it is still root.
 */
export const checkWorkingDirectory = (path: string, user: User): void => {
  let real: string;
  try {
    real = realpathSync(path);
    if (!statSync(real).isDirectory()) throw invalid(`cwd "${path}" is not a directory`);
  } catch (error) {
    if (error instanceof Error && 'errno' in error)
      throw invalid(`cwd "${path}" does not exist`, { cause: error });
    throw error;
  }
  if (!isReachable(real, user)) throw invalid(`cwd "${path}" is not accessible for user "${user.name}"`);
};
