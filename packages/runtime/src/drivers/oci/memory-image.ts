import { createHash } from 'node:crypto';
import { chown, open, readdir, writeFile } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { syncPath } from './sync-path.ts';
import { ID_COUNT } from './user-namespace.ts';

/** The processes of a paused sandbox, as files. */
export interface KeptMemory {
  lifeLineId: string;
  /** What the kernel's boot id was inside; undefined where the host's own was seen. */
  bootId?: string;
  /** The boot of the host during which they were written. */
  hostBootId: string;
  /** What tells the images from damaged ones; undefined until they are on the medium. */
  images?: MemoryImages;
}

export interface MemoryImages {
  /** The one image that every resume writes anew. */
  usernsName: string;
  files: { name: string; sizeBytes: number; sha256: string }[];
}

/** Resolves when the images in the folder are on the medium, with what tells them from damaged ones. */
export const keepImages = async (folder: string): Promise<MemoryImages> => {
  const images = (await readdir(folder)).filter((name) => name.endsWith('.img')).sort();
  const usernsName = images.find((name) => name.startsWith('userns-'));
  if (usernsName === undefined)
    throw new RuntimeError('internal', 'the memory images have no user namespace');
  const names = images.filter((name) => name !== usernsName);
  const files = await Promise.all(
    names.map(async (name) => {
      const path = `${folder}/${name}`;
      const [found] = await Promise.all([hashFile(path), syncPath(path)]);
      return { name, ...found };
    }),
  );
  await syncPath(folder);
  return { files, usernsName };
};

/** Rejects with `internal`, naming the first image that is not as it was. */
export const verifyImages = async (folder: string, { files }: MemoryImages): Promise<void> => {
  await Promise.all(
    files.map(async ({ name, sha256 }) => {
      const found = await hashFile(`${folder}/${name}`).catch((error: unknown) => {
        throw new RuntimeError('internal', `the memory image ${name} cannot be read`, { cause: error });
      });
      if (found.sha256 !== sha256)
        throw new RuntimeError('internal', `the memory image ${name} changed while paused`);
    }),
  );
};

const PART_BYTES = 2 ** 20;

/** Reads the next part while it hashes one; twice as fast as a stream. Other work gets its turn between parts. */
const hashFile = async (path: string): Promise<{ sizeBytes: number; sha256: string }> => {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const hash = createHash('sha256');
  const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(size + 1, PART_BYTES));
  const buffers: [Buffer, Buffer] = [toBuffer(), toBuffer()];
  let sizeBytes = 0;
  for (let reading = file.read(buffers[0]); ; buffers.reverse()) {
    const { bytesRead } = await reading;
    if (bytesRead === 0) return { sizeBytes, sha256: hash.digest('hex') };
    sizeBytes += bytesRead;
    // Never left alone: the next turn waits for it.
    reading = file.read(buffers[1]);
    hash.update(buffers[0].subarray(0, bytesRead));
  }
};

// criu: images/userns.proto, criu/include/magic.h. Two equal maps of one extent each: inside, outside, count.
const usernsMagic = Buffer.from('1943565406494755', 'hex');

/**
 * Makes the images' user namespace one that is mapped to the range at `baseId`, whose root may read them. All that was
 * hashed stays as it is.
 */
export const moveImages = async (
  folder: string,
  { usernsName, baseId }: { usernsName: string; baseId: number },
): Promise<void> => {
  const extent = Buffer.from([0x08, 0, 0x10, ...toVarint(baseId), 0x18, ...toVarint(ID_COUNT)]);
  const entry = Buffer.concat([0x0a, 0x12].map((tag) => Buffer.from([tag, extent.length, ...extent])));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(entry.length);
  await writeFile(`${folder}/${usernsName}`, Buffer.concat([usernsMagic, length, entry]));
  const paths = (await readdir(folder)).map((name) => `${folder}/${name}`);
  await Promise.all([folder, ...paths].map((path) => chown(path, baseId, baseId)));
};

const toVarint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...toVarint(Math.floor(value / 128))];
