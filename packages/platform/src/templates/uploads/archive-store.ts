import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ApiError, invalid } from '@skerry/contract/error';
import { notePassed } from '@skerry/contract/passing-buffers';
import type { Clock } from '../../clock.ts';
import { syncFolder } from '../../sync-folder.ts';
import { type ArchiveFile, createArchiveFiles, ifThere } from './archive-files.ts';

/** The archives of files that steps of builds copy, each under the hash that its client gave it. */
export interface ArchiveStore {
  /**
   * Whether an archive is there; it then stays for another day, and for as long as a build may wait for its start even
   * if there is too little room for all.
   */
  has(hash: string): Promise<boolean>;
  /** Keeps archives until the returned function is called. */
  hold(hashes: Iterable<string>): () => void;
  /**
   * Writes an archive as it arrives, in place of an earlier one; on disk when it resolves. Archives that nothing needs make
   * room, the least recently used first. Leaves nothing when it rejects: with `invalid_argument` for no bytes,
   * `payload_too_large`, `insufficient_storage` when the host would have less than its reserve or those that are needed
   * take all room, or what the body fails with.
   */
  write(hash: string, body: AsyncIterable<Uint8Array>, options: { declaredBytes?: number }): Promise<void>;
  /** Undefined when there is none. The caller reads the stream or destroys it. */
  open(hash: string): Promise<{ archive: Readable; sizeBytes: number } | undefined>;
  /** The path of an archive, which may be missing. */
  toPath(hash: string): string;
  /**
   * Removes archives that were not asked for in a day, those for which there is no room, and what a killed process has left.
   */
  collect(): Promise<void>;
  /** The number and bytes of all archives, and those of them that `prune` removes. */
  measure(): Promise<ArchiveUsage>;
  /** Removes all archives that no build needs or may wait for. Resolves with what was removed. */
  prune(): Promise<{ count: number; sizeBytes: number }>;
}

export interface ArchiveUsage {
  count: number;
  sizeBytes: number;
  unneededCount: number;
  unneededBytes: number;
}

export interface ArchiveStoreOptions {
  /** Made when missing. */
  folder: string;
  /** The largest size of one archive. */
  maxBytes: number;
  /** The largest size of all archives together. */
  maxTotalBytes: number;
  /** How long an archive stays that nothing holds. Default: a day, and 40 minutes where there is too little room. */
  keptMs?: number;
  /** How long one that nothing holds is not removed to make room. Default: 40 minutes, or `keptMs`. */
  neededMs?: number;
  /** What the file system of a folder can take beside its reserve. */
  readSpareBytes: (folder: string) => number;
  clock: Pick<Clock, 'now'>;
}

const KEPT_MS = 24 * 60 * 60_000;
/** The longest time that a build waits for its start: its client was told that the archive is present. */
const NEEDED_MS = 40 * 60_000;
/** The free space of the host is checked again after this number of bytes. */
const ROOM_STEP_BYTES = 64 * 2 ** 20;

const unfinished = '.upload-';

export const createArchiveStore = (options: ArchiveStoreOptions): ArchiveStore => {
  const { folder, maxBytes, maxTotalBytes, keptMs = KEPT_MS, readSpareBytes, clock } = options;
  const { neededMs = Math.min(NEEDED_MS, keptMs) } = options;
  const files = createArchiveFiles(folder);
  /** Unfinished files, with the bytes that they take or will take at least. */
  const inProgress = new Map<string, number>();
  const held = new Map<string, number>();

  /** Remove at 0 also what is from the future, as after a change of the clock. */
  const isOlder = (usedAt: number, ms: number): boolean => ms === 0 || clock.now() - usedAt >= ms;
  const isUnneeded = ({ hash, usedAt }: ArchiveFile): boolean => !held.has(hash) && isOlder(usedAt, neededMs);

  const requireSize = (sizeBytes: number): void => {
    if (sizeBytes > maxBytes)
      throw new ApiError('payload_too_large', `an archive may have at most ${maxBytes} bytes`);
  };
  const requireRoom = (sizeBytes: number): void => {
    if (sizeBytes > readSpareBytes(folder))
      throw new ApiError('insufficient_storage', 'the host has too little room for the archive');
  };

  /** Removes archives until all have room. Resolves with the bytes that are still too many. */
  const makeRoom = async (): Promise<number> => {
    const archives = await files.list();
    const sizes = [...archives.map(({ sizeBytes }) => sizeBytes), ...inProgress.values()];
    let excess = sizes.reduce((sum, sizeBytes) => sum + sizeBytes, 0) - maxTotalBytes;
    for (const { hash } of archives) if (excess > 0) excess -= await files.removeIf(hash, isUnneeded);
    return Math.max(excess, 0);
  };
  const requireShare = async (): Promise<void> => {
    if ((await makeRoom()) > 0)
      throw new ApiError(
        'insufficient_storage',
        `the archives that builds need take the ${maxTotalBytes} bytes that all may have: repeat this when builds have ended`,
      );
  };

  const pump = async (body: AsyncIterable<Uint8Array>, name: string): Promise<void> => {
    const file = await open(join(folder, name), 'wx', 0o600);
    try {
      let sizeBytes = 0;
      let checkedBytes = 0;
      for await (const piece of body) {
        notePassed(piece);
        sizeBytes += piece.length;
        requireSize(sizeBytes);
        inProgress.set(name, Math.max(sizeBytes, inProgress.get(name) ?? 0));
        if (sizeBytes - checkedBytes > ROOM_STEP_BYTES) {
          requireRoom(piece.length);
          await requireShare();
          checkedBytes = sizeBytes;
        }
        for (let done = 0; done < piece.length; ) done += (await file.write(piece, done)).bytesWritten;
      }
      if (sizeBytes === 0) throw invalid('the body must be a tar archive, and it is empty');
      await requireShare();
      await file.sync();
    } finally {
      await file.close();
    }
  };

  const removeWhere = async (
    isRemoved: (archive: ArchiveFile) => boolean,
  ): Promise<{ count: number; sizeBytes: number }> => {
    const removed = { count: 0, sizeBytes: 0 };
    for (const { hash } of await files.list()) {
      const sizeBytes = await files.removeIf(hash, isRemoved);
      if (sizeBytes === 0) continue;
      removed.count += 1;
      removed.sizeBytes += sizeBytes;
    }
    return removed;
  };

  return {
    toPath: files.toPath,
    has: (hash) => files.touch(hash, clock.now()),
    hold: (hashes) => {
      const all = [...hashes];
      for (const hash of all) held.set(hash, (held.get(hash) ?? 0) + 1);
      return () => {
        for (const hash of all.splice(0)) {
          const others = (held.get(hash) ?? 1) - 1;
          if (others > 0) held.set(hash, others);
          else held.delete(hash);
        }
      };
    },
    write: async (hash, body, { declaredBytes = 1 }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      requireSize(declaredBytes);
      requireRoom(declaredBytes);
      const name = `${unfinished}${randomBytes(8).toString('hex')}`;
      inProgress.set(name, declaredBytes);
      try {
        await requireShare();
        await pump(body, name);
        const now = new Date(clock.now());
        await utimes(join(folder, name), now, now);
        await files.inTurn(() => rename(join(folder, name), files.toPath(hash)));
        await syncFolder(folder);
      } catch (error) {
        await rm(join(folder, name), { force: true });
        const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
        if (!isFull) throw error;
        throw new ApiError('insufficient_storage', 'the disk of the host is full', { cause: error });
      } finally {
        inProgress.delete(name);
      }
    },
    open: async (hash) => {
      const file = await open(files.toPath(hash), 'r').catch(ifThere);
      if (file === undefined) return undefined;
      const { size } = await file.stat();
      return { archive: createReadStream('', { fd: file }), sizeBytes: size };
    },
    collect: async () => {
      for (const name of (await readdir(folder).catch(ifThere)) ?? [])
        if (name.startsWith(unfinished) && !inProgress.has(name))
          await rm(join(folder, name), { force: true });
      await removeWhere((archive) => isUnneeded(archive) && isOlder(archive.usedAt, keptMs));
      await makeRoom();
    },
    measure: async () => {
      const all = await files.list();
      const unneeded = all.filter(isUnneeded);
      const toBytes = (some: readonly ArchiveFile[]): number =>
        some.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      return {
        count: all.length,
        sizeBytes: toBytes(all),
        unneededCount: unneeded.length,
        unneededBytes: toBytes(unneeded),
      };
    },
    prune: () => removeWhere(isUnneeded),
  };
};
