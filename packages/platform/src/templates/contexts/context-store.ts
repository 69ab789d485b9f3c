import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ApiError, invalid } from '@skerry/contract/error';
import { notePassed } from '@skerry/contract/passing-buffers';
import type { Clock } from '../../clock.ts';
import { syncFolder } from '../../sync-folder.ts';

/** The archives of files that steps of builds copy, each under the hash that its client gave it. */
export interface ContextStore {
  /** Whether an archive is there; it then stays for another day. */
  has(hash: string): Promise<boolean>;
  /**
   * Writes an archive as it arrives, in place of an earlier one; on disk when it resolves. Leaves nothing when it
   * rejects: with `invalid_argument` for no bytes, `payload_too_large`, `insufficient_storage` when the host would have
   * less than its reserve, or what the body fails with.
   */
  write(hash: string, body: AsyncIterable<Uint8Array>, options: { declaredBytes?: number }): Promise<void>;
  /** Undefined when there is none. The caller reads the stream or destroys it. */
  open(hash: string): Promise<{ archive: Readable; sizeBytes: number } | undefined>;
  /** Removes archives that were not asked for in a day, and what a killed process has left. No build may be in progress. */
  collect(): Promise<void>;
}

export interface ContextStoreOptions {
  /** Made when missing. */
  folder: string;
  maxBytes: number;
  /** What the file system of a folder can take beside its reserve. */
  readSpareBytes: (folder: string) => number;
  clock: Pick<Clock, 'now'>;
}

/** A build waits 40 minutes at most, so one that waits has asked for its archives since. */
const KEPT_MS = 24 * 60 * 60_000;
/** The room of the host is looked at again after so many bytes. */
const ROOM_STEP_BYTES = 64 * 2 ** 20;

const unfinished = '.upload-';

const ifThere = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};

export const createContextStore = (options: ContextStoreOptions): ContextStore => {
  const { folder, maxBytes, readSpareBytes, clock } = options;
  const inProgress = new Set<string>();
  const toPath = (hash: string): string => join(folder, hash);

  const requireSize = (sizeBytes: number): void => {
    if (sizeBytes > maxBytes)
      throw new ApiError('payload_too_large', `an archive may have at most ${maxBytes} bytes`);
  };
  const requireRoom = (sizeBytes: number): void => {
    if (sizeBytes > readSpareBytes(folder))
      throw new ApiError('insufficient_storage', 'the host has too little room for the archive');
  };

  const pump = async (body: AsyncIterable<Uint8Array>, path: string): Promise<void> => {
    const file = await open(path, 'wx', 0o600);
    try {
      let sizeBytes = 0;
      let checkedBytes = 0;
      for await (const piece of body) {
        notePassed(piece);
        sizeBytes += piece.length;
        requireSize(sizeBytes);
        if (sizeBytes - checkedBytes > ROOM_STEP_BYTES) {
          requireRoom(piece.length);
          checkedBytes = sizeBytes;
        }
        for (let done = 0; done < piece.length; ) done += (await file.write(piece, done)).bytesWritten;
      }
      if (sizeBytes === 0) throw invalid('the body must be a tar archive, and it is empty');
      await file.sync();
    } finally {
      await file.close();
    }
  };

  return {
    has: async (hash) => {
      const now = new Date(clock.now());
      return utimes(toPath(hash), now, now)
        .then(() => true, ifThere)
        .then((found) => found === true);
    },
    write: async (hash, body, { declaredBytes = 1 }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      requireSize(declaredBytes);
      requireRoom(declaredBytes);
      const name = `${unfinished}${randomBytes(8).toString('hex')}`;
      inProgress.add(name);
      try {
        await pump(body, join(folder, name));
        const now = new Date(clock.now());
        await utimes(join(folder, name), now, now);
        await rename(join(folder, name), toPath(hash));
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
      const file = await open(toPath(hash), 'r').catch(ifThere);
      if (file === undefined) return undefined;
      const { size } = await file.stat();
      return { archive: createReadStream('', { fd: file }), sizeBytes: size };
    },
    collect: async () => {
      for (const name of (await readdir(folder).catch(ifThere)) ?? []) {
        const path = join(folder, name);
        const found = await stat(path).catch(ifThere);
        const isOld = found !== undefined && clock.now() - found.mtimeMs > KEPT_MS;
        const isLeft = name.startsWith(unfinished) && !inProgress.has(name);
        if (isLeft || (isOld && !inProgress.has(name))) await rm(path, { force: true });
      }
    },
  };
};
