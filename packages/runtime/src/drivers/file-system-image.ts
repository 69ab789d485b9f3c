import { createHash } from 'node:crypto';
import { closeSync, createReadStream, lstatSync, openSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from '../kernel/run-command.ts';
import { syncPath } from '../kernel/sync-path.ts';
import type { ExportedImage } from '../runtime.ts';
import { alignInodeTimes } from './inode-times.ts';
import { BLOCK_BYTES, measureTree } from './measure-tree.ts';

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
  const { entryCount, blockCount, uuid } = await measureTree(folder, signal);
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
