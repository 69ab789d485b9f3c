import { readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';

/** What was found is not to be run with the rights of this process. */
export class UntrustedFileError extends RuntimeError {
  constructor(message: string) {
    super('unsupported', message);
    this.name = 'UntrustedFileError';
  }
}

const toReason = ({ uid, gid, mode }: Stats, owners: readonly number[]): string | undefined => {
  if (!owners.includes(uid)) return `belongs to user ${uid}`;
  if ((mode & 0o002) !== 0) return 'may be written by every user';
  // A group of that user's own is what many systems make of it.
  if ((mode & 0o020) !== 0 && gid !== process.getegid?.()) return `may be written by group ${gid}`;
  return undefined;
};

const requireOwn = (path: string, owners: readonly number[], what: string): Stats => {
  const stats = statSync(path);
  const reason = toReason(stats, owners);
  if (reason === undefined) return stats;
  const mend = `chown ${owners[0]} ${path}; chmod go-w ${path}`;
  throw new UntrustedFileError(`${path} ${reason}, and ${what}: mend, if you trust it: ${mend}`);
};

const self = (): number => process.geteuid?.() ?? 0;

/**
 * Code in this folder runs with the rights of this process. The folders above it are not looked at.
 * @throws UntrustedFileError when the folder belongs to another user, or others may write in it
 */
export const requireOwnFolder = (path: string): void => {
  requireOwn(path, [self()], 'skerry runs what lies in it');
};

/** Checks a program of this host as `requireOwnFolder` checks a folder; root may own it, too. */
export const requireOwnProgram = (path: string): void => {
  requireOwn(path, [self(), 0], 'skerry would run it');
};

/** Checks a folder as `requireOwnFolder` does, and everything that lies in it. */
export const requireOwnTree = (path: string): void => {
  requireOwnFolder(path);
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    // The kernel takes no mode of a link: the owner of the folder decides where it leads.
    if (!entry.isSymbolicLink()) requireOwn(join(entry.parentPath, entry.name), [self()], 'skerry runs it');
  }
};
