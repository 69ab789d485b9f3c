import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createAttempt } from '../attempt.ts';
import { BlobError, type BlobErrorCode, toBlobError } from '../blob-error.ts';
import { parseKey, parsePrefix, parseRange } from '../blob-key.ts';
import type { BlobInfo, BlobStore } from '../blob-store.ts';
import { feed, toBody } from '../body.ts';

/**
 * A folder with one file for each blob, on a disk of this host or one that hosts share. A new blob is written beside
 * the others, synced and renamed. Makes the folder where it is missing; rejects as the store does when that fails.
 */
export const openFolderStore = async ({ folder }: { folder: string }): Promise<BlobStore> => {
  const toPath = (key: string): string => join(folder, toName(parseKey(key)));

  const attempt = createAttempt(toCode);

  const describe = async (key: string): Promise<BlobInfo | undefined> => {
    const found = await unlessMissing(stat(toPath(key)));
    return found && { key, sizeBytes: found.size, modifiedAt: found.mtime };
  };

  await attempt('making the folder', undefined, () => mkdir(folder, { recursive: true, mode: 0o700 }));

  return {
    put: async (key, body, { sizeBytes, signal } = {}) => {
      const unfinished = join(folder, `${unfinishedPrefix}${randomUUID()}`);
      try {
        return await attempt(`storing ${key}`, signal, async () => {
          const path = toPath(key);
          // "flush": synced before it is closed.
          const file = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true });
          const closed = new Promise<void>((resolve) => file.once('close', () => resolve()));
          const counted = await feed(body, file, { sizeBytes, signal }).catch(async (error: unknown) => {
            // A body may fail while the file is being opened, which would then appear after its removal.
            file.destroy();
            await closed;
            throw error;
          });
          await rename(unfinished, path);
          await syncFolder(folder);
          return { sizeBytes: counted };
        });
      } catch (error) {
        body.destroy();
        await rm(unfinished, { force: true }).catch(() => {
          // The caller needs the first failure; `removeAbandoned` removes what is left.
        });
        throw error;
      }
    },
    get: (key, { range, signal } = {}) =>
      attempt(`reading ${key}`, signal, async () => {
        const path = toPath(key);
        const { offset, length } = parseRange(range ?? { offset: 0 });
        const file = await open(path, 'r');
        try {
          const { size } = await file.stat();
          if (range && offset >= size)
            throw new BlobError('invalid', `${key} has ${size} bytes, and none from ${offset}`);
          const sizeBytes = Math.min(length ?? size, size - offset);
          // A read of nothing would be one of everything: its end is before its start.
          const end = sizeBytes === 0 ? offset : offset + sizeBytes - 1;
          const source = file.createReadStream({ start: offset, end });
          const toError = (error: unknown) => toBlobError(error, { step: `reading ${key}`, toCode, signal });
          return { sizeBytes, body: toBody(source, { sizeBytes, toError, signal }) };
        } catch (error) {
          await file.close();
          throw error;
        }
      }),
    head: (key, { signal } = {}) => attempt(`looking for ${key}`, signal, () => describe(key)),
    delete: (key, { signal } = {}) =>
      attempt(`removing ${key}`, signal, async () => {
        await rm(toPath(key), { force: true });
        await syncFolder(folder);
      }),
    list: async function* (prefix, { signal } = {}) {
      const keys = await attempt(`listing ${prefix}`, signal, async () => {
        const start = toName(parsePrefix(prefix));
        const names = await readdir(folder);
        return names
          .filter((name) => name.startsWith(start) && !name.startsWith(unfinishedPrefix))
          .map(toKey)
          .sort();
      });
      for (const key of keys) {
        const found = await attempt(`listing ${prefix}`, signal, () => describe(key));
        if (found) yield found;
      }
    },
    removeAbandoned: ({ startedBefore, signal }) =>
      attempt('removing what was abandoned', signal, async () => {
        let count = 0;
        for (const name of await readdir(folder)) {
          if (!name.startsWith(unfinishedPrefix)) continue;
          signal?.throwIfAborted();
          const path = join(folder, name);
          const found = await unlessMissing(stat(path));
          // The last write, so that its put began before that too.
          if (found === undefined || found.mtime >= startedBefore) continue;
          await rm(path, { force: true });
          count += 1;
        }
        return count;
      }),
    close: async () => {},
  };
};

/** No key begins with it. */
const unfinishedPrefix = '.new-';

/** All blobs are files of one folder. A slash of a key becomes a plus, which no key has, so `a` and `a/b` may both be keys. */
const toName = (key: string): string => key.replaceAll('/', '+');
const toKey = (name: string): string => name.replaceAll('+', '/');

const syncFolder = async (folder: string): Promise<void> => {
  await using handle = await open(folder, 'r');
  await handle.sync();
};

const unlessMissing = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (toCode(error) === 'not_found') return undefined;
    throw error;
  });

const codes: Record<string, BlobErrorCode> = {
  ENOENT: 'not_found',
  ENOSPC: 'exhausted',
  EDQUOT: 'exhausted',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  // A disk that hosts share.
  EIO: 'unavailable',
  ESTALE: 'unavailable',
  ETIMEDOUT: 'unavailable',
  EMFILE: 'unavailable',
  ENFILE: 'unavailable',
};

const toCode = (error: unknown): BlobErrorCode | undefined =>
  codes[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
