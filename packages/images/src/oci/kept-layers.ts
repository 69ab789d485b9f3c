import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { abortable } from '@skerry/contract/abortable';
import { listFolder, syncFolder, unfinishedPrefix } from '../image-file.ts';
import type { BlobReference } from './image-manifest.ts';
import type { LayerFlights } from './layer-flights.ts';
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
  /**
   * Reads from the folder what is there, and otherwise from the registry at `origin`. What another pull receives from there is waited for,
   * and requested as well if that pull cannot keep it. The caller ends it. The reason of `signal` ends the waits.
   */
  before(
    registry: Pick<Registry, 'blob'>,
    options: { origin: string; signal: AbortSignal },
  ): LayerSource & { end(): void };
  /** Removes the file of a layer unless its content is that of its digest. Resolves with whether it did. */
  removeIfDamaged(layer: BlobReference): Promise<boolean>;
  /** Resolves when those that are kept are on the medium, and nothing is left of the others. None may be read any more. */
  finish(): Promise<void>;
}

export interface LayerSource {
  /**
   * The bytes of a layer, unverified: those of the folder count as used now. Ask in the order in which you read them. Rejects as the registry
   * does.
   */
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

export interface KeptLayersOptions {
  /** Whether none is read or waited for, and each that is received takes the place of an earlier one. */
  refresh: boolean;
  /** Throws where the host has no room for `sizeBytes`. */
  requireRoom: (sizeBytes: number) => void;
  /** The layers that all pulls in the folder are receiving. */
  flights: LayerFlights;
}

/** Opens the folder, which is made when missing. */
export const createKeptLayers = async (
  folder: string,
  { refresh, requireRoom, flights }: KeptLayersOptions,
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
    before: (registry, { origin, signal }) => {
      const kept = new Set<Readable>();
      const keepers = new Map<Readable, () => void>();
      const landings = new Set<Land>();

      /** Without an `await` before it: the order of these calls is the one that `join` needs. */
      const join = ({ digest }: BlobReference): { land: Land; landed?: Promise<void> } => {
        if (refresh) return { land: () => undefined };
        const flight = flights.join(`${folder} ${origin} ${digest}`);
        if (!flight.isFirst) return { land: () => undefined, landed: flight.landed };
        landings.add(flight.land);
        return flight;
      };

      const receive = async (layer: BlobReference, land: Land): Promise<Readable> => {
        const blob = await registry.blob(layer);
        const copy = await openCopy(layer.sizeBytes);
        if (copy === undefined) {
          land();
          return blob;
        }
        const { pieces, isWhole } = writeAndPass(blob, copy.file);
        const stream = Readable.from(pieces, { objectMode: false, highWaterMark: BUFFER_BYTES });
        keepers.set(stream, () => {
          if (!isWhole()) return land();
          landings.delete(land);
          keeping.push(keep(copy.path, layer.digest).catch(reportUnkept).finally(land));
        });
        return stream;
      };

      return {
        blob: async (layer) => {
          const { land, landed } = join(layer);
          if (landed !== undefined) await abortable(landed, signal);
          const found = await openKept(layer.digest);
          if (found === undefined) return receive(layer, land);
          land();
          kept.add(found);
          return found;
        },
        isKept: (blob) => kept.has(blob),
        keep: (blob) => keepers.get(blob)?.(),
        end: () => {
          for (const land of landings) land();
        },
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

type Land = () => void;

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
