import { closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { createYielder } from '../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../error.ts';
import { ID_COUNT } from '../../../kernel/user-namespace.ts';
import { readXattrs, toInnerXattr } from '../../../kernel/xattrs.ts';
import { toPathText } from '../../path-text.ts';
import { hashSparse } from '../disk/hash-sparse.ts';
import type { LayerEntry, TreeEntry } from './tree-entry.ts';

/** How deep folders may be nested: each takes a descriptor while it is read. */
const MAX_DEPTH = 1_000;
/** The longest path that the kernel accepts (PATH_MAX); code inside can make longer ones step by step. */
const MAX_PATH_LENGTH = 4_096;
/**
 * The size of all entries as JSON: names, and attributes that files share, take far less space inside than in the
 * manifest.
 */
const MAX_LAYER_LENGTH = 256 * 2 ** 20;

export interface TreeOptions {
  /** The id that is 0 inside. */
  baseId: number;
  signal?: AbortSignal | undefined;
}

/**
 * Reads a sandbox's own files, the upper layer of its root, a folder before its content. Changes by code inside
 * meanwhile never lead out of it. Rejects with `unsupported` for folders that are nested too deep, paths that are too
 * long, and more entries than a manifest can hold, and with the signal's reason when that aborts.
 */
export async function* readLayer(root: string, options: TreeOptions): AsyncGenerator<LayerEntry> {
  const hashes = new Map<number, string>();
  const takeTurns = createYielder();
  let lengthLeft = MAX_LAYER_LENGTH;

  async function* readFolder(folder: number, path: string, depth: number): AsyncGenerator<LayerEntry> {
    if (depth > MAX_DEPTH) throw tooMuch(`a file is nested in more than ${MAX_DEPTH} folders`);
    const held = `/proc/self/fd/${folder}/`;
    for (const name of readdirSync(held, { encoding: 'buffer' }).sort(Buffer.compare)) {
      await takeTurns();
      options.signal?.throwIfAborted();
      const at = Buffer.concat([Buffer.from(held), name]);
      const inner = `${path}/${toPathText(name)}`;
      if (agentPaths.includes(inner)) continue;
      if (inner.length > MAX_PATH_LENGTH) throw tooMuch(`a path is longer than ${MAX_PATH_LENGTH}`);
      const found = readEntry(at, inner, options);
      if (found === undefined) continue;
      lengthLeft -= JSON.stringify(found.entry).length;
      if (lengthLeft < 0) throw tooMuch('there are too many files');
      if (found.entry.type === 'file') {
        const known = hashes.get(found.inode);
        found.entry.sha256 = known ?? (await hashFile(at, options.signal));
        if (found.links > 1) hashes.set(found.inode, found.entry.sha256);
      }
      yield found.entry;
      if (found.entry.type !== 'directory') continue;
      const next = openFolder(at);
      if (next === undefined) continue;
      try {
        yield* readFolder(next, inner, depth + 1);
      } finally {
        closeSync(next);
      }
    }
  }

  const top = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    yield* readFolder(top, '', 0);
  } finally {
    closeSync(top);
  }
}

const tooMuch = (what: string): RuntimeError => new RuntimeError('unsupported', what);

/** The mount points of the agent and its sockets: not the sandbox's own. */
const agentPaths = ['/.envd', '/run/envd'];

/** The entry at that path on the host, under its path inside; without a hash. Undefined when there is none. */
export const describePath = (at: Buffer, path: string, options: TreeOptions): TreeEntry | undefined => {
  const found = readEntry(at, path, options)?.entry;
  return found?.type === 'removed' ? undefined : found;
};

const readEntry = (at: Buffer, path: string, { baseId }: TreeOptions) => {
  try {
    const stats = lstatSync(at);
    return { entry: toEntry(at, path, stats, baseId), inode: stats.ino, links: stats.nlink };
  } catch (error) {
    // Removed or replaced since the folder was read.
    if (isGone(error)) return undefined;
    throw error;
  }
};

const toEntry = (at: Buffer, path: string, stats: Stats, baseId: number): LayerEntry => {
  const { rdev } = stats;
  // linux/fs/overlayfs: a character device 0:0 hides the entry below.
  if (stats.isCharacterDevice() && rdev === 0) return { path, type: 'removed' };
  const attributes = readXattrs(at);
  const isOpaque = attributes.get('trusted.overlay.opaque')?.toString() === 'y';
  const own = [...attributes]
    .filter(([name]) => !name.startsWith('trusted.overlay.'))
    .map(([name, value]) => [name, toInnerXattr(name, value, baseId).toString('base64')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    path,
    type: toType(stats),
    mode: stats.mode & 0o7777,
    uid: toInnerId(stats.uid, baseId),
    gid: toInnerId(stats.gid, baseId),
    ...(stats.isFile() && { sizeBytes: stats.size }),
    ...(stats.isSymbolicLink() && { target: toPathText(readlinkSync(at, { encoding: 'buffer' })) }),
    ...((stats.isCharacterDevice() || stats.isBlockDevice()) && {
      device: `${(rdev >> 8) & 0xfff}:${(rdev & 0xff) | ((rdev >> 12) & 0xfff00)}`,
    }),
    ...(own.length > 0 && { xattrs: Object.fromEntries(own) }),
    ...(isOpaque && { opaque: true }),
  };
};

const toType = (stats: Stats): TreeEntry['type'] => {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isSocket()) return 'socket';
  return stats.isCharacterDevice() ? 'character-device' : 'block-device';
};

const OVERFLOW_ID = 65_534;

/** Returns the id inside the sandbox. An id outside of the sandbox's range becomes that of `nobody`, as in the kernel. */
const toInnerId = (id: number, baseId: number): number =>
  id >= baseId && id < baseId + ID_COUNT ? id - baseId : OVERFLOW_ID;

const openFolder = (at: Buffer): number | undefined => {
  try {
    return openSync(at, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
};

/**
 * The hash of a regular file, see `hashSparse`; empty where it was replaced meanwhile. Does not wait for a pipe in its
 * place.
 */
export const hashFile = async (at: Buffer, signal?: AbortSignal): Promise<string> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOATIME;
  try {
    await using file = await open(at, flags);
    return await hashSparse(file, signal);
  } catch (error) {
    if (!isGone(error)) throw error;
    return '';
  }
};

const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '');
