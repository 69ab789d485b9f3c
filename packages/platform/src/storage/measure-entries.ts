import { lstat, readdir } from 'node:fs/promises';

const BLOCK_BYTES = 512;

/**
 * The space that each entry of a folder takes on the disk, by name. A file with several names counts once, for the first. None
 * for a folder that is missing; what disappears meanwhile, or cannot be read, does not count.
 */
export const measureEntries = async (folder: string): Promise<Map<string, number>> => {
  const counted = new Set<string>();
  const measure = async (path: Buffer): Promise<number> => {
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined) return 0;
    const key = `${found.dev}:${found.ino}`;
    if (found.nlink > 1 && !found.isDirectory() && counted.has(key)) return 0;
    counted.add(key);
    let sizeBytes = found.blocks * BLOCK_BYTES;
    if (found.isDirectory())
      for (const name of await listNames(path))
        sizeBytes += await measure(Buffer.concat([path, Buffer.from('/'), name]));
    return sizeBytes;
  };
  const sizes = new Map<string, number>();
  for (const name of await listNames(Buffer.from(folder)))
    sizes.set(String(name), await measure(Buffer.concat([Buffer.from(`${folder}/`), name])));
  return sizes;
};

/** Bytes: a name in the tree of a sandbox need not be UTF-8. */
const listNames = (path: Buffer): Promise<Buffer[]> => readdir(path, { encoding: 'buffer' }).catch(() => []);
