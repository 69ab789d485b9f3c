import { chmod, chown, link, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { createFingerprintKey, type Fingerprint, readFingerprint } from './fingerprint.ts';
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
  fingerprintKey: string;
  files: MemoryImage[];
}

interface MemoryImage extends Fingerprint {
  name: string;
  /** By which a look is enough to know that nobody has written to it: a decimal number, too large for a JSON one. */
  modifiedNs: string;
}

/** So many images are read and written out at the same time; with a thread each for both, some are left for others. */
const LANES = 6;

/** Resolves when the images in the folder are on the medium, with what tells them from damaged ones. */
export const keepImages = async (folder: string): Promise<MemoryImages> => {
  const images = (await readdir(folder)).filter((name) => name.endsWith('.img')).sort();
  const usernsName = images.find((name) => name.startsWith('userns-'));
  if (usernsName === undefined)
    throw new RuntimeError('internal', 'the memory images have no user namespace');
  const fingerprintKey = createFingerprintKey();
  const found = await Promise.all(
    images.filter((name) => name !== usernsName).map((name) => lookAt(folder, name)),
  );
  // The largest first: the others are done while that one is written out.
  const waiting = found.toSorted((one, other) => other.sizeBytes - one.sizeBytes);
  const files: MemoryImage[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const path = `${folder}/${next.name}`;
      const [fingerprint] = await Promise.all([readFingerprint(path, fingerprintKey), syncPath(path)]);
      files.push({ ...next, ...fingerprint });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await syncPath(folder);
  return { files, fingerprintKey, usernsName };
};

const lookAt = async (folder: string, name: string) => {
  const path = `${folder}/${name}`;
  // Those of other owners read it too, in folders of their own.
  await chmod(path, 0o644);
  const { size, mtimeNs } = await stat(path, { bigint: true });
  return { name, sizeBytes: Number(size), modifiedNs: String(mtimeNs) };
};

/** Rejects with `damaged`, naming the first image that is not as it was. */
export const verifyImages = async (
  folder: string,
  { files, fingerprintKey }: MemoryImages,
): Promise<void> => {
  await Promise.all(
    files.map(async ({ name, sizeBytes, mac }) => {
      const found = await readFingerprint(`${folder}/${name}`, fingerprintKey).catch((error: unknown) => {
        throw new RuntimeError('damaged', `the memory image ${name} cannot be read`, { cause: error });
      });
      if (found.sizeBytes !== sizeBytes || found.mac !== mac)
        throw new RuntimeError('damaged', `the memory image ${name} changed`);
    }),
  );
};

/** As `verifyImages`, at the price of a look: for images that were verified, or have just been written. */
export const requireUntouched = async (folder: string, { files }: MemoryImages): Promise<void> => {
  for (const { name, sizeBytes, modifiedNs } of files) {
    const found = await stat(`${folder}/${name}`, { bigint: true }).catch((error: unknown) => {
      throw new RuntimeError('damaged', `the memory image ${name} cannot be read`, { cause: error });
    });
    if (Number(found.size) !== sizeBytes || String(found.mtimeNs) !== modifiedNs)
      throw new RuntimeError('damaged', `the memory image ${name} changed`);
  }
};

/** Shows the images in a folder of another sandbox. They are never written to, so it shares them. */
export const shareImages = async (
  { files }: MemoryImages,
  { from, to }: { from: string; to: string },
): Promise<void> => {
  await mkdir(to, { mode: 0o700 });
  await Promise.all(files.map(({ name }) => link(`${from}/${name}`, `${to}/${name}`)));
};

// criu: images/userns.proto, criu/include/magic.h. Two equal maps of one extent each: inside, outside, count.
const usernsMagic = Buffer.from('1943565406494755', 'hex');

/**
 * Makes the images' user namespace one that is mapped to the range at `baseId`, whose root may write to the folder. All
 * that was hashed stays as it is.
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
  await Promise.all([folder, `${folder}/${usernsName}`].map((path) => chown(path, baseId, baseId)));
};

const toVarint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...toVarint(Math.floor(value / 128))];
