import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { ImageError } from '../../image-error.ts';
import { containedPath } from './contained-path.ts';

/** A sandbox has the ids from 0 to this one: 65,536, as container tools map them. */
const MAX_SANDBOX_ID = 65_535;

interface Owned {
  uid: number;
  gid: number;
}

/** Files of an image that no sandbox can own, over all of its layers. */
export interface StrangeOwners {
  /** Remembers the path of what is written, below the root, when a sandbox has no such owner. */
  note(path: string, owner: Owned): void;
  /**
   * Throws `unsuitable_image` with the name and the owner of the first that is still there. Call it after the last layer: a
   * later one may remove a file or make it anew.
   */
  refuse(): void;
}

/** Collects owners in the tree at `root`, which no other process may change meanwhile. */
export function createStrangeOwners(root: string): StrangeOwners {
  const noted = new Set<string>();

  /** The owner of what is there now, without a link on its way. */
  const find = (path: string): Owned | undefined => {
    const parent = dirname(path);
    const isReal =
      path === root || containedPath(root, parent.slice(root.length), { followLast: true }) === parent;
    return isReal ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  };

  return {
    note: (path, owner) => {
      if (isStrange(owner)) noted.add(path);
    },
    refuse: () => {
      for (const path of noted) {
        const owner = find(path);
        if (owner === undefined || !isStrange(owner)) continue;
        const name = JSON.stringify(path.slice(root.length, root.length + 200) || '/');
        throw new ImageError(
          'unsuitable_image',
          `the file ${name} of the image belongs to ${owner.uid}:${owner.gid}, and a sandbox has the ids 0 to ${MAX_SANDBOX_ID} only`,
        );
      }
    },
  };
}

const isStrange = ({ uid, gid }: Owned): boolean => uid > MAX_SANDBOX_ID || gid > MAX_SANDBOX_ID;
