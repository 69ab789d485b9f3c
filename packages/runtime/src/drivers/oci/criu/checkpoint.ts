import { chmodSync, linkSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { chown, writeFile } from 'node:fs/promises';
import { withConcurrencyLimit } from '../../../concurrency/concurrency-limit.ts';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import { ID_COUNT } from '../../../kernel/user-namespace.ts';
import { createFingerprintKey, readFingerprint } from '../disk/fingerprint.ts';
import { beginWriteOut } from '../disk/write-out-meanwhile.ts';

/** The processes of a paused sandbox, as files. */
export interface Checkpoint {
  /** How CRIU names the liveness pipe. Undefined where a kernel of the sandbox's own has written them. */
  livenessPipeId?: string;
  /** What the kernel's boot id was inside; undefined where the host's own was seen. */
  bootId?: string;
  /** Whether sockets in them need a network to be restored in. */
  needsNetwork?: boolean;
  /** The boot of the host during which they were written. */
  hostBootId: string;
  /** What tells the images from damaged ones; undefined until they are on the medium. */
  images?: MemoryImages;
}

export interface MemoryImages {
  /** The one image that every resume by CRIU writes anew. */
  usernsName?: string;
  files: MemoryImage[];
  /** Undefined: they are not on the medium. */
  fingerprints?: Fingerprints;
}

/** The processes of a paused sandbox as CRIU has written them. */
export interface CriuMemory extends Checkpoint {
  livenessPipeId: string;
  images: MemoryImages & { usernsName: string };
}

export const isCriuMemory = (memory: Checkpoint): memory is CriuMemory =>
  memory.livenessPipeId !== undefined && memory.images?.usernsName !== undefined;

interface MemoryImage {
  name: string;
  sizeBytes: number;
  /** By which a look is enough to know that nobody has written to it: a decimal number, too large for a JSON one. */
  modifiedNs: string;
}

interface Fingerprints {
  key: string;
  /** Of each image, by name. */
  macs: Record<string, string>;
  /** Whether each image has a nonce of its own, made of its name. Undefined in records of the first releases. */
  hasNonces?: true;
}

/** Whether an image has the contents of memory, and not what there is to know of it. */
export const isPages = (name: string): boolean => name.startsWith('pages-');

/** How many processes there are in them, threads among them: each has an image of its own. */
export const countProcesses = ({ files }: MemoryImages): number =>
  files.filter(({ name }) => name.startsWith('core-')).length;

/** What images there are in a folder. Those of other owners may read them from here on, in folders of their own. */
export const listImages = (folder: string): MemoryImages => {
  const images = readdirSync(folder).filter((name) => name.endsWith('.img'));
  const usernsName = images.find((name) => name.startsWith('userns-'));
  const files = images
    .filter((name) => name !== usernsName)
    .map((name) => {
      const path = `${folder}/${name}`;
      chmodSync(path, 0o644);
      const { size, mtimeNs } = statSync(path, { bigint: true });
      return { name, sizeBytes: Number(size), modifiedNs: String(mtimeNs) };
    });
  return { ...(usernsName !== undefined && { usernsName }), files };
};

/** So many images are read at the same time; their fingerprints are made by the one thread that all else waits for, too. */
const READ_LIMIT = 2;
/** And so many are written out, each of which has a thread; some are left for others. */
const WRITE_LIMIT = 6;

/** As `listImages`; they are on the medium when it resolves. */
export const keepImages = async (folder: string): Promise<MemoryImages> => {
  const images = listImages(folder);
  const key = createFingerprintKey();
  const macs: Fingerprints['macs'] = {};
  // The largest first: the others are done while that one is written out.
  const names = images.files
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
    .map(({ name }) => name);
  const writeOut = async (): Promise<void> => {
    // Once all of the small ones have their blocks, a journal has them in one transaction, and waiting for it once is enough.
    const small = names.filter((name) => !isPages(name));
    await withConcurrencyLimit(small, { limit: WRITE_LIMIT }, (name) => beginWriteOut(`${folder}/${name}`));
    await withConcurrencyLimit(names, { limit: WRITE_LIMIT }, (name) => syncPath(`${folder}/${name}`));
  };
  await settleAll([
    writeOut(),
    withConcurrencyLimit(names, { limit: READ_LIMIT }, async (name) => {
      macs[name] = (await readFingerprint(`${folder}/${name}`, { key, label: name })).mac;
    }),
  ]);
  await syncPath(folder);
  return { ...images, fingerprints: { key, macs, hasNonces: true } };
};

/** Rejects with `damaged`, naming the first image that is not as it was. */
export const verifyImages = async (folder: string, { files, fingerprints }: MemoryImages): Promise<void> => {
  if (fingerprints === undefined) throw new RuntimeError('damaged', 'the memory images were never kept');
  const { key, macs, hasNonces } = fingerprints;
  await Promise.all(
    files.map(async ({ name, sizeBytes }) => {
      const found = await readFingerprint(`${folder}/${name}`, {
        key,
        label: hasNonces ? name : undefined,
      }).catch((error: unknown) => {
        throw new RuntimeError('damaged', `the memory image ${name} cannot be read`, { cause: error });
      });
      if (found.sizeBytes !== sizeBytes || found.mac !== macs[name])
        throw new RuntimeError('damaged', `the memory image ${name} changed`);
    }),
  );
};

/** As `verifyImages`, but throws, and at the price of a look: for images that were verified, or have just been written. */
export const requireUntouched = (folder: string, { files }: MemoryImages): void => {
  for (const { name, sizeBytes, modifiedNs } of files) {
    const found = statSync(`${folder}/${name}`, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) throw new RuntimeError('damaged', `the memory image ${name} is gone`);
    if (Number(found.size) !== sizeBytes || String(found.mtimeNs) !== modifiedNs)
      throw new RuntimeError('damaged', `the memory image ${name} changed`);
  }
};

/** Shows the images in a folder of another sandbox. They are never written to, so it shares them. */
export const shareImages = ({ files }: MemoryImages, { from, to }: { from: string; to: string }): void => {
  mkdirSync(to, { mode: 0o700 });
  for (const { name } of files) linkSync(`${from}/${name}`, `${to}/${name}`);
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
