import { readdirSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { invalid, notFound } from '@skerry/contract/error';
import { type EntryInfo, FileType } from '@skerry/envd-client/filesystem';
import { isErrno } from '../system/errno.ts';
import type { AccountNames } from '../system/users.ts';
import { readEntryInfo } from './entry-info.ts';

/** Reading synchronously is several times faster. After so many entries the loop yields to other calls. */
const ENTRIES_PER_BATCH = 256;

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

/** Errors of the agent itself, such as too many open files. Other errors concern one entry only. */
const OWN_LIMITS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Undefined when this entry has vanished or cannot be read, as it happens in /proc and below very long paths. */
const tryRead = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    if (isErrno(error) && !OWN_LIMITS.has(error.code)) return undefined;
    throw error;
  }
};

/**
 * Lists a directory down to `depth` levels, depth first in lexical order, without the directory itself, in batches that are
 * not empty. A link given as `path` is followed, links below are not entered, and entries that vanish meanwhile are left
 * out. A directory below that cannot be read is listed without what it holds.
 */
export async function* listDirectory(
  path: string,
  { depth, names, signal }: { depth: number; names: AccountNames; signal: AbortSignal },
): AsyncGenerator<EntryInfo[]> {
  checkDirectory(path);
  let batch: EntryInfo[] = [];
  // A stack instead of recursion: a hostile tree is deeper than any call stack.
  const levels = [{ path, children: readdirSync(path).sort(), next: 0 }];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.children[level.next++];
    if (name === undefined) {
      levels.pop();
      continue;
    }
    const child = level.path === '/' ? `/${name}` : `${level.path}/${name}`;
    const entry = tryRead(() => readEntryInfo(child, names));
    if (entry === undefined) continue;
    batch.push(entry);
    if (batch.length === ENTRIES_PER_BATCH) {
      yield batch;
      batch = [];
      await setImmediate();
      signal.throwIfAborted();
    }
    const isRealDirectory = entry.type === FileType.DIRECTORY && entry.symlinkTarget === undefined;
    if (!isRealDirectory || levels.length >= depth) continue;
    const children = tryRead(() => readdirSync(child).sort());
    if (children !== undefined) levels.push({ path: child, children, next: 0 });
  }
  if (batch.length > 0) yield batch;
}
