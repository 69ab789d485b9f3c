import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { ApiError, invalid, notFound } from '@skerry/contract/error';
import { FileType } from '@skerry/envd-client/filesystem';
import { isErrno } from '../errno.ts';
import type { AccountNames, Users } from '../users.ts';
import { type EntryInfoInit, readEntryInfo } from './entry-info.ts';

/** Keeps one answer, and the agent while it makes it, within bounds. */
const MAX_ENTRIES = 250_000;
/** Reading synchronously is several times faster; after so many entries others get their turn. */
const ENTRIES_PER_TURN = 256;

/** Checks that a path is a directory, links followed. Throws the protocol's error for each way it may not be. */
export const checkDirectory = (path: string): void => {
  let isDirectory: boolean;
  try {
    isDirectory = statSync(path).isDirectory();
  } catch (error) {
    if (!isErrno(error)) throw error;
    if (error.code === 'ELOOP')
      throw new ConnectError(`path "${path}" is a loop of links`, Code.FailedPrecondition);
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw notFound(`directory "${path}" not found`, { cause: error });
    }
    throw error;
  }
  if (!isDirectory) throw invalid(`path "${path}" is not a directory`);
};

const readNames = (path: string): string[] => {
  try {
    return readdirSync(path).sort();
  } catch (error) {
    if (isErrno(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw error;
  }
};

const readExisting = (path: string, accounts: AccountNames): EntryInfoInit | undefined => {
  try {
    return readEntryInfo(path, accounts);
  } catch (error) {
    if (isErrno(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
};

/**
 * Lists a directory down to `depth` levels, depth first in lexical order, without the directory itself. A link given as
 * `path` is followed, links below are not entered, and entries that vanish meanwhile are left out. Throws
 * `resource_exhausted` when the answer would be too large.
 */
export const listDirectory = async (
  path: string,
  { depth, users, signal }: { depth: number; users: Users; signal: AbortSignal },
): Promise<EntryInfoInit[]> => {
  checkDirectory(path);
  const accounts = users.names();
  const entries: EntryInfoInit[] = [];
  // A stack instead of recursion: a hostile tree is deeper than any call stack.
  const levels: { path: string; names: string[]; next: number }[] = [
    { path, names: readNames(path), next: 0 },
  ];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.names[level.next++];
    if (name === undefined) {
      levels.pop();
      continue;
    }
    const entry = readExisting(join(level.path, name), accounts);
    if (entry === undefined) continue;
    entries.push(entry);
    if (entries.length > MAX_ENTRIES) {
      throw new ApiError(
        'resource_exhausted',
        `"${path}" has more than ${MAX_ENTRIES} entries; list fewer levels`,
      );
    }
    if (entries.length % ENTRIES_PER_TURN === 0) {
      await setImmediate();
      signal.throwIfAborted();
    }
    const isRealDirectory = entry.type === FileType.DIRECTORY && entry.symlinkTarget === undefined;
    if (isRealDirectory && levels.length < depth) {
      const child = join(level.path, name);
      levels.push({ path: child, names: readNames(child), next: 0 });
    }
  }
  return entries;
};
