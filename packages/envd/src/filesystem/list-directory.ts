import { isUtf8 } from 'node:buffer';
import { readdirSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { invalid, notFound } from '@skerry/contract/error';
import { type EntryInfo, FileType } from '@skerry/envd-client/filesystem';
import { isErrno } from '../system/errno.ts';
import { escapeName } from '../system/escaped-name.ts';
import type { AccountNames } from '../system/users.ts';
import { readEntryInfo } from './entry-info.ts';

/** Reading synchronously is several times faster. The loop yields to other calls after each batch. */
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

/** What a directory holds: names as they are shown, in their order, and the bytes of those that are not UTF-8. */
interface Children {
  names: string[];
  bytes: ReadonlyMap<string, Buffer>;
}

const NO_BYTES: ReadonlyMap<string, Buffer> = new Map();
/** Stands in a text for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

const readChildren = (path: string | Buffer): Children => {
  const names = readdirSync(path);
  if (!names.some((name) => name.includes(REPLACEMENT))) return { names: names.sort(), bytes: NO_BYTES };
  const bytes = new Map<string, Buffer>();
  const shown = readdirSync(path, { encoding: 'buffer' }).map((name) => {
    if (isUtf8(name)) return name.toString();
    const escaped = escapeName(name);
    bytes.set(escaped, name);
    return escaped;
  });
  return { names: shown.sort(), bytes };
};

/**
 * Lists a directory down to `depth` levels, depth first in lexical order, without the directory itself, in batches that are
 * not empty. A link given as `path` is followed, links below are not entered, and entries that vanish meanwhile are left
 * out. A directory below that cannot be read is listed without what it holds. Names that are not UTF-8 are escaped.
 */
export async function* listDirectory(
  path: string,
  { depth, names, signal }: { depth: number; names: AccountNames; signal: AbortSignal },
): AsyncGenerator<EntryInfo[]> {
  checkDirectory(path);
  let batch: EntryInfo[] = [];
  // A stack instead of recursion: a hostile tree is deeper than any call stack.
  const levels = [{ path, at: path as string | Buffer, children: readChildren(path), next: 0 }];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.children.names[level.next++];
    if (name === undefined) {
      levels.pop();
      continue;
    }
    const child = level.path === '/' ? `/${name}` : `${level.path}/${name}`;
    const bytes = level.children.bytes.get(name);
    const isText = bytes === undefined && typeof level.at === 'string';
    const at = isText
      ? child
      : Buffer.concat([Buffer.from(level.at), Buffer.from('/'), bytes ?? Buffer.from(name)]);
    const entry = tryRead(() => readEntryInfo(child, names, at));
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
    const children = tryRead(() => readChildren(at));
    if (children !== undefined) levels.push({ path: child, at, children, next: 0 });
  }
  if (batch.length > 0) yield batch;
}
