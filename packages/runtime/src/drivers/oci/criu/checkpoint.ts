import { chmodSync, linkSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { chown, writeFile } from 'node:fs/promises';
import { withConcurrencyLimit } from '../../../concurrency/concurrency-limit.ts';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import type { HostClass } from '../compatibility/compatibility-class.ts';
import { createFingerprintKey, readFingerprint } from '../disk/fingerprint.ts';
import { beginWriteOut } from '../disk/write-out-meanwhile.ts';

/** The processes of a paused sandbox, as files. */
export interface Checkpoint {
  /** How CRIU names the liveness pipe. Undefined where a sentry has written the images. */
  livenessPipeId?: string;
  /** The kernel's boot id as seen inside; undefined where the host's own was visible. */
  bootId?: string;
  /** Whether their sockets need a network to be restored in. */
  needsNetwork?: boolean;
  /** The boot of the host during which the images were written. */
  hostBootId: string;
  /** The class of that host. Undefined where it was not recorded: only that host can restore it. */
  madeOn?: HostClass;
  /** Detect damaged images; undefined until the images are on the medium. */
  images?: MemoryImages;
}

export interface MemoryImages {
  /** The only image that every resume by CRIU rewrites. */
  usernsName?: string;
  files: MemoryImage[];
  /** Undefined: they are not on the medium. */
  fingerprints?: Fingerprints;
}

/** The processes of a paused sandbox as dumped by CRIU. */
export interface CriuMemory extends Checkpoint {
  livenessPipeId: string;
  images: MemoryImages & { usernsName: string };
}

export const isCriuMemory = (memory: Checkpoint): memory is CriuMemory =>
  memory.livenessPipeId !== undefined && memory.images?.usernsName !== undefined;

interface MemoryImage {
  name: string;
  sizeBytes: number;
  /**
   * Modification time in nanoseconds, by which a stat shows that the image is unchanged: a decimal string, too large
   * for a JSON number.
   */
  modifiedNs: string;
}

interface Fingerprints {
  key: string;
  /** Name of the image → its message authentication code. */
  macs: Record<string, string>;
}

/** Whether an image contains memory, and not metadata. */
export const isPages = (name: string): boolean => name.startsWith('pages-');

/** The number of processes in the images, threads among them: each has an image of its own. */
export const countProcesses = ({ files }: MemoryImages): number =>
  files.filter(({ name }) => name.startsWith('core-')).length;

/** Lists the images in a folder. Other owners may read them from here on, in folders of their own. */
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

/** The number of images read at the same time; their hashes are computed by the main thread. */
const READ_LIMIT = 2;
/** The number of images synced at the same time, each by a thread of the pool; some threads are left for other work. */
const WRITE_LIMIT = 6;

/** Lists the images, and resolves when they are on the medium. */
export const keepImages = async (folder: string): Promise<MemoryImages> => {
  const images = listImages(folder);
  const key = createFingerprintKey();
  const macs: Fingerprints['macs'] = {};
  // The largest first: the others are synced meanwhile.
  const names = images.files
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
    .map(({ name }) => name);
  const writeOut = async (): Promise<void> => {
    // Once all small ones have their blocks, a journal commits them in one transaction, and one wait is enough.
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
  return { ...images, fingerprints: { key, macs } };
};

/** Rejects with `damaged`, naming the first image that has changed. */
export const verifyImages = async (folder: string, { files, fingerprints }: MemoryImages): Promise<void> => {
  if (fingerprints === undefined) throw new RuntimeError('damaged', 'the memory images were never kept');
  const { key, macs } = fingerprints;
  await Promise.all(
    files.map(async ({ name, sizeBytes }) => {
      const found = await readFingerprint(`${folder}/${name}`, { key, label: name }).catch(
        (error: unknown) => {
          throw new RuntimeError('damaged', `the memory image ${name} cannot be read`, { cause: error });
        },
      );
      if (found.sizeBytes !== sizeBytes || found.mac !== macs[name])
        throw new RuntimeError('damaged', `the memory image ${name} changed`);
    }),
  );
};

/**
 * Throws `damaged` when an image is missing, or has another size or time than listed. Synchronous, and
 * without reading: for images that were verified, or have just been written.
 */
export const requireUntouched = (folder: string, { files }: MemoryImages): void => {
  for (const { name, sizeBytes, modifiedNs } of files) {
    const found = statSync(`${folder}/${name}`, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) throw new RuntimeError('damaged', `the memory image ${name} is missing`);
    if (Number(found.size) !== sizeBytes || String(found.mtimeNs) !== modifiedNs)
      throw new RuntimeError('damaged', `the memory image ${name} changed`);
  }
};

/** Links the images into the folder of another sandbox. They are never written to, so it can share them. */
export const shareImages = ({ files }: MemoryImages, { from, to }: { from: string; to: string }): void => {
  mkdirSync(to, { mode: 0o700 });
  for (const { name } of files) linkSync(`${from}/${name}`, `${to}/${name}`);
};

/**
 * Changes the images' user namespace to one that is mapped to the range at `baseId`, whose root may write to the
 * folder. Everything that was hashed stays as it is.
 */
export const moveImages = async (
  folder: string,
  { usernsName, baseId }: { usernsName: string; baseId: number },
): Promise<void> => {
  // Loaded when it is first needed: a helper that makes sandboxes and restores none starts without protobuf.
  const { createUserNamespaceImage } = await import('./images/user-namespace-image.ts');
  await writeFile(`${folder}/${usernsName}`, await createUserNamespaceImage(baseId));
  await Promise.all([folder, `${folder}/${usernsName}`].map((path) => chown(path, baseId, baseId)));
};
