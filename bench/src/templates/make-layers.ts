import { randomBytes, randomInt } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

const MIB = 2 ** 20;
/** The files of 100 MiB of an image, like those of an image with a language and its packages. */
const files: { bytes: number; count: number }[] = [
  { bytes: 10 * MIB, count: 2 },
  { bytes: MIB, count: 20 },
  { bytes: 100 * 1024, count: 300 },
  { bytes: 10 * 1024, count: 3_100 },
];
/** The size of one layer. */
const LAYER_BYTES = 100 * MIB;
const FILES_PER_FOLDER = 50;
const POOL_BYTES = 8 * MIB;
const WORDS = 2_000;

/**
 * Writes the layers of an image into `folder`, as tar archives whose content has `sizeBytes` altogether in some 3,400 files of
 * each 100 MiB, which gzip halves. Resolves with their paths, the lowest first. All layers write to folders
 * of their own.
 */
export async function makeLayers(options: {
  folder: string;
  sizeBytes: number;
  compression: 'gzip' | 'none';
}): Promise<string[]> {
  const { folder, sizeBytes, compression } = options;
  const pool = makePool();
  const count = Math.max(1, Math.round(sizeBytes / LAYER_BYTES));
  const share = sizeBytes / count / LAYER_BYTES;
  const paths = Array.from({ length: count }, (_, index) => join(folder, `${index}.layer`));
  const write = async (path: string, index: number): Promise<void> => {
    const stages = compression === 'gzip' ? [createGzip()] : [];
    await pipeline([packLayer(pool, { name: `layer${index}`, share }), ...stages, createWriteStream(path)]);
  };
  await Promise.all(paths.map(write));
  return paths;
}

function packLayer(pool: Buffer, { name, share }: { name: string; share: number }): Readable {
  const archive = pack();
  const add = async (): Promise<void> => {
    let made = 0;
    for (const { bytes, count } of files)
      for (let left = Math.max(1, Math.round(count * share)); left > 0; left -= 1) {
        const path = `${name}/${Math.floor(made / FILES_PER_FOLDER)}/${made}`;
        made += 1;
        // tar-stream counts what it holds, and the gzip behind it sets the pace.
        await new Promise<void>((resolve, reject) => {
          const entry = archive.entry({ name: path, size: bytes }, (error) =>
            error ? reject(error) : resolve(),
          );
          const pieces = cutPieces(pool, bytes);
          for (const piece of pieces.slice(0, -1)) entry.write(piece);
          entry.end(pieces.at(-1));
        });
      }
    archive.finalize();
  };
  add().catch((error: Error) => archive.destroy(error));
  return archive as unknown as Readable;
}

function cutPieces(pool: Buffer, bytes: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let left = bytes; left > 0; left -= MIB) {
    const from = randomInt(POOL_BYTES - MIB);
    pieces.push(pool.subarray(from, from + Math.min(MIB, left)));
  }
  return pieces;
}

/** Random words: any part of it compresses as text does. */
function makePool(): Buffer {
  const words = Array.from({ length: WORDS }, () => randomBytes(randomInt(2, 10)));
  const parts: Buffer[] = [];
  for (let bytes = 0; bytes < POOL_BYTES; ) {
    const word = words[randomInt(WORDS)] as Buffer;
    parts.push(word);
    bytes += word.length;
  }
  return Buffer.concat(parts, POOL_BYTES);
}
