import { createHash } from 'node:crypto';
import { closeSync, createReadStream, lstatSync, openSync, readdirSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createYielder } from '../concurrency/yielder.ts';
import { runCommand } from '../kernel/run-command.ts';
import { syncPath } from '../kernel/sync-path.ts';
import type { ExportedImage } from '../runtime.ts';
import { alignInodeTimes } from './inode-times.ts';

const BLOCK_BYTES = 4096;
/** What an entry of a folder takes beside its name, at most. */
const NAME_BYTES = 11;
const DEADLINE_MS = 30 * 60_000;
const WRITE_BEHIND_MS = 100;
/** What e2fsprogs takes for the time of day, under its earlier and its later name. */
const fixedTime = { E2FSPROGS_FAKE_TIME: '1', SOURCE_DATE_EPOCH: '1' };

/**
 * Writes the content of `folder` into a new ext4 file system at `path`: names, owners, modes, times of modification in whole
 * seconds, links, extended attributes and holes. Equal folders make equal bytes. It has room for nothing else. Fails for an existing file.
 * On the medium when it resolves. Rejects as `runCommand` does, or with the reason of `signal`, and leaves no file then.
 */
export const makeFileSystemImage = async (options: {
  folder: string;
  path: string;
  signal?: AbortSignal | undefined;
  /** Throws where the host has no room for a file of that size. */
  requireRoom?: ((sizeBytes: number) => void) | undefined;
  /** Called when the folder is not read any more. */
  onCopied?: (() => void) | undefined;
}): Promise<ExportedImage> => {
  const { folder, path, signal, requireRoom, onCopied } = options;
  const { entryCount, blockCount, uuid } = await measure(folder, signal);
  requireRoom?.(blockCount * BLOCK_BYTES);
  // Closed to other users: files inside may be, too.
  closeSync(openSync(path, 'wx', 0o600));
  try {
    const copying = runCommand({
      file: 'mke2fs',
      args: [
        ...['-q', '-F', '-t', 'ext4', '-b', String(BLOCK_BYTES), '-m', '0', '-d', folder],
        // One inode for each entry, those that a file system has of its own, and for large attributes.
        ...['-N', String(Math.ceil(entryCount * 1.05) + 64)],
        ...['-O', '^has_journal,^resize_inode,sparse_super2,ea_inode'],
        ...['-U', uuid],
        ...['-E', `lazy_itable_init=1,nodiscard,num_backup_sb=0,root_owner=0:0,hash_seed=${uuid}`],
        // A tenth more, for extents and tables: the file is sparse.
        ...[path, String(Math.ceil((blockCount + entryCount / 8) * 1.1) + 4096)],
      ],
      env: fixedTime,
      timeoutMs: DEADLINE_MS,
      signal,
    });
    // Both have ended before the file is removed.
    for (const outcome of await Promise.allSettled([copying, writeBehind(path, copying)]))
      if (outcome.status === 'rejected') throw outcome.reason;
    onCopied?.();
    await alignInodeTimes(path, { blockBytes: BLOCK_BYTES, env: fixedTime, signal });
    const hash = createHash('sha256');
    // The disk writes while the processor hashes.
    await Promise.all([
      pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { ...(signal && { signal }) }),
      syncPath(path),
    ]);
    return { digest: `sha256:${hash.digest('hex')}`, sizeBytes: lstatSync(path).blocks * 512 };
  } catch (error) {
    await rm(path, { force: true });
    signal?.throwIfAborted();
    throw error;
  }
};

/** Has the disk write what `work` adds to a file meanwhile: little is left to be synced at its end. */
const writeBehind = async (path: string, work: Promise<unknown>): Promise<void> => {
  const end = new AbortController();
  const stop = (): void => end.abort();
  work.then(stop, stop);
  await using handle = await open(path, 'r');
  while (!end.signal.aborted) {
    await handle.datasync();
    // Only `stop` aborts the wait, which ends the loop.
    await delay(WRITE_BEHIND_MS, undefined, { signal: end.signal }).catch(() => undefined);
  }
};

/** Counts the entries, and the blocks that their content needs. The UUID follows from what the entries are, without their content. */
const measure = async (
  folder: string,
  signal: AbortSignal | undefined,
): Promise<{ entryCount: number; blockCount: number; uuid: string }> => {
  const takeTurns = createYielder();
  const hash = createHash('sha256');
  let entryCount = 1;
  let blockCount = 1;
  // Bytes: a name in an image need not be UTF-8.
  const walk = async (path: Buffer): Promise<void> => {
    await takeTurns();
    signal?.throwIfAborted();
    const entries = readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
    let namesBytes = 0;
    for (const entry of entries.toSorted((a, b) => a.name.compare(b.name))) {
      const child = Buffer.concat([path, Buffer.from('/'), entry.name]);
      const { blocks, size, mode, uid, gid, mtimeMs } = lstatSync(child);
      const isFolder = entry.isDirectory();
      hash.update(child.subarray(folder.length));
      hash.update(`\0${[mode, uid, gid, isFolder ? 0 : size, Math.floor(mtimeMs / 1000)].join()}\0`);
      entryCount += 1;
      namesBytes += NAME_BYTES + entry.name.length;
      // What the host has allocated can be more, in another way for each copy; with holes it is less.
      const contentBytes = isFolder ? 0 : Math.min(size, blocks * 512);
      // One more: an extended attribute that the inode cannot hold takes a block.
      blockCount += 1 + Math.ceil(contentBytes / BLOCK_BYTES);
      if (isFolder) await walk(child);
    }
    blockCount += 1 + Math.ceil(namesBytes / BLOCK_BYTES);
  };
  await walk(Buffer.from(folder));
  return { entryCount, blockCount, uuid: toUuid(hash.digest('hex')) };
};

/** One of version 8, which is of any content (RFC 9562). */
const toUuid = (hex: string): string =>
  [
    ...[hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`],
    ...[`8${hex.slice(17, 20)}`, hex.slice(20, 32)],
  ].join('-');
