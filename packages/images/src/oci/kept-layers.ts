import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { listFolder, syncFolder, unfinishedPrefix } from '../image-file.ts';
import type { BlobReference } from './image-manifest.ts';
import { digestPattern } from './reference.ts';
import type { Registry } from './registry.ts';
import { createVerifier } from './verified-blob.ts';

/** A layer that is kept, as the registry has it. */
export interface KeptLayer {
  digest: string;
  /** The space that it takes. */
  sizeBytes: number;
  createdAt: number;
  /** When a pull wrote or read it, in milliseconds since 1970. */
  lastUsedAt: number;
}

/** The compressed layers of images in a folder, for one pull. A layer that cannot be kept fails no pull, and is reported on stderr. */
export interface KeptLayers {
  /** Reads from the folder what is there, and otherwise from the registry. */
  before(registry: Pick<Registry, 'blob'>): LayerSource;
  /** Removes the file of a layer unless its content is that of its digest. Resolves with whether it did. */
  removeIfDamaged(layer: BlobReference): Promise<boolean>;
  /** Resolves when those that are kept are on the medium, and nothing is left of the others. None may be read any more. */
  finish(): Promise<void>;
}

export interface LayerSource {
  /** The bytes of a layer, unverified: those of the folder count as used now. Rejects as the registry does. */
  blob(layer: BlobReference): Promise<Readable>;
  /** Whether a blob is one of the folder. */
  isKept(blob: Readable): boolean;
  /** Keeps one of the registry; its reader has found all of it to be what its digest says. */
  keep(blob: Readable): void;
}

const BUFFER_BYTES = 1 << 20;
const suffix = '.layer';

const reportUnkept = (error: unknown): void =>
  console.error('a layer of an image cannot be kept or read:', error);

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Where the layer of a digest is. Throws for what is no digest. */
const toPath = (folder: string, digest: string): string => {
  if (!digestPattern.test(digest)) throw new Error(`${JSON.stringify(digest)} is no digest`);
  return join(folder, `${digest.replace(':', '-')}${suffix}`);
};

/**
 * Opens the folder, which is made when missing. With `refresh` none is read, and each that is received takes the place of an earlier one.
 * `requireRoom` throws where the host has no room for so many bytes.
 */
export const createKeptLayers = async (
  folder: string,
  { refresh, requireRoom }: { refresh: boolean; requireRoom: (sizeBytes: number) => void },
): Promise<KeptLayers> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = new Set<string>();
  /** What a failed pull may leave open. */
  const opened: { close(): unknown }[] = [];
  const keeping: Promise<void>[] = [];

  const keep = async (from: string, digest: string): Promise<void> => {
    const file = await open(from, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(from, toPath(folder, digest));
    unfinished.delete(from);
  };

  const openKept = async (digest: string): Promise<Readable | undefined> => {
    if (refresh) return undefined;
    const path = toPath(folder, digest);
    try {
      const file = await open(path, 'r');
      const now = new Date();
      // Otherwise it only seems older than it is.
      await utimes(path, now, now).catch(reportUnkept);
      const stream = file.createReadStream({ highWaterMark: BUFFER_BYTES });
      opened.push(stream);
      return stream;
    } catch (error) {
      if (!isMissing(error)) reportUnkept(error);
      return undefined;
    }
  };

  const openCopy = async (sizeBytes: number): Promise<{ path: string; file: FileHandle } | undefined> => {
    const path = join(folder, `${unfinishedPrefix}${randomUUID()}${suffix}`);
    try {
      requireRoom(sizeBytes);
      unfinished.add(path);
      const file = await open(path, 'wx', 0o600);
      opened.push(file);
      return { path, file };
    } catch (error) {
      reportUnkept(error);
      return undefined;
    }
  };

  return {
    before: (registry) => {
      const kept = new Set<Readable>();
      const keepers = new Map<Readable, () => void>();
      return {
        blob: async (layer) => {
          const found = await openKept(layer.digest);
          if (found !== undefined) {
            kept.add(found);
            return found;
          }
          const blob = await registry.blob(layer);
          const copy = await openCopy(layer.sizeBytes);
          if (copy === undefined) return blob;
          const { pieces, isWhole } = writeAndPass(blob, copy.file);
          const stream = Readable.from(pieces, { objectMode: false, highWaterMark: BUFFER_BYTES });
          keepers.set(stream, () => {
            if (isWhole()) keeping.push(keep(copy.path, layer.digest).catch(reportUnkept));
          });
          return stream;
        },
        isKept: (blob) => kept.has(blob),
        keep: (blob) => keepers.get(blob)?.(),
      };
    },
    removeIfDamaged: async (layer) => {
      const path = toPath(folder, layer.digest);
      try {
        await pipeline(
          createReadStream(path, { highWaterMark: BUFFER_BYTES }),
          createVerifier(layer),
          async (pieces) => {
            for await (const _ of pieces);
          },
        );
        return false;
      } catch {
        await rm(path, { force: true });
        return true;
      }
    },
    finish: async () => {
      await Promise.all([...keeping, ...opened.map((one) => one.close())]);
      for (const path of unfinished) await rm(path, { force: true });
      if (keeping.length > 0) await syncFolder(folder).catch(reportUnkept);
    },
  };
};

/** Passes the pieces on. A write that fails only ends the copy. */
const writeAndPass = (
  blob: AsyncIterable<Uint8Array>,
  file: FileHandle,
): { pieces: AsyncGenerator<Uint8Array>; isWhole: () => boolean } => {
  let state: 'copying' | 'failed' | 'whole' = 'copying';
  const write = async (piece: Uint8Array): Promise<void> => {
    try {
      for (let done = 0; done < piece.length; ) done += (await file.write(piece, done)).bytesWritten;
    } catch (error) {
      reportUnkept(error);
      state = 'failed';
    }
  };
  const pass = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of blob) {
        if (state === 'copying') await write(piece);
        yield piece;
      }
      if (state === 'copying') state = 'whole';
    } finally {
      await file.close();
    }
  };
  return { pieces: pass(), isWhole: () => state === 'whole' };
};

/** All layers of a folder, which may be missing. */
export const listLayers = async (folder: string): Promise<KeptLayer[]> => {
  const layers: KeptLayer[] = [];
  for (const name of await listFolder(folder)) {
    const digest = name.replace('-', ':').slice(0, -suffix.length);
    if (!name.endsWith(suffix) || !digestPattern.test(digest)) continue;
    const found = await lstat(join(folder, name)).catch((error: unknown) => {
      // Removed since the folder was listed.
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found === undefined) continue;
    const { blocks, birthtimeMs, mtimeMs } = found;
    const createdAt = Math.floor(birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs);
    layers.push({ digest, sizeBytes: blocks * 512, createdAt, lastUsedAt: Math.floor(mtimeMs) });
  }
  return layers;
};

/** Removes the layer of a digest. A pull that reads it goes on. Idempotent. */
export const removeLayer = (folder: string, digest: string): Promise<void> =>
  rm(toPath(folder, digest), { force: true });

/** Removes what killed processes have left: no pull may be in progress. */
export const sweepLayers = async (folder: string): Promise<void> => {
  for (const name of await listFolder(folder))
    if (name.startsWith(unfinishedPrefix)) await rm(join(folder, name), { force: true });
};
