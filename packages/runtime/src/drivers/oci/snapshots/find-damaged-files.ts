import { withDiskView } from '../disk/disk-view.ts';
import { readLayer } from './read-tree.ts';
import type { Layer, LayerEntry } from './tree-entry.ts';

const MAX_FILES = 20;
/** All of them are in one message. */
const MAX_PATH_LENGTH = 400;

const toShort = (path: string): string =>
  path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path;

/** Lists the files of an image that differ from the manifest, as far as the damage allows reading them. */
export const findDamagedFiles = async (
  disk: { image: string; scratchDir: string; baseId: number },
  expected: Layer,
): Promise<string[]> => {
  const found: string[] = [];
  const missing = new Set(expected.keys());
  try {
    await withDiskView(disk, async (view) => {
      for await (const entry of readLayer(`${view}/upper`, disk)) {
        missing.delete(entry.path);
        if (!isSame(entry, expected.get(entry.path))) found.push(`${toShort(entry.path)} has changed`);
      }
      for (const path of missing) found.push(`${toShort(path)} is missing`);
    });
  } catch (error) {
    found.push(`not all of its files can be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
  const rest = found.length - MAX_FILES;
  return rest > 0 ? [...found.slice(0, MAX_FILES), `${rest} more`] : found;
};

const isSame = (one: LayerEntry, other: LayerEntry | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
