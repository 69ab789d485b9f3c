import { chmodSync, chownSync, closeSync, mkdirSync, writeFileSync } from 'node:fs';
import {
  attachTree,
  cloneTree,
  idMapTree,
  MountFlag,
  mount,
  unmountEvery,
} from '../../../kernel/syscalls.ts';

// What is written here stays in the kernel's memory: handing it to other threads takes four times the work, and twice as long.

const folder = (path: string, options: { baseId: number; mode: number }): void => {
  mkdirSync(path);
  // By hand: what this process lets new files be must not show inside.
  chmodSync(path, options.mode);
  chownSync(path, options.baseId, options.baseId);
};

/** The agent's folder of one run. */
export const prepareGuestDir = ({ disk, baseId }: { disk: string; baseId: number }): void =>
  folder(`${disk}/run`, { baseId, mode: 0o700 });

/**
 * Lays out a fresh disk: `upper/`, `work/` and the agent's `run/`. The files in /etc that differ from sandbox to
 * sandbox are written straight into the upper layer, never through the merged tree, where a link in a hostile image
 * could lead elsewhere. `baseId` is root inside as seen from the host.
 */
export const prepareUpper = (
  { disk, baseId }: { disk: string; baseId: number },
  etc: Record<string, string>,
): void => {
  for (const name of ['upper', 'work', 'upper/.envd', 'upper/etc', 'upper/run', 'upper/run/envd'])
    folder(`${disk}/${name}`, { baseId, mode: 0o755 });
  prepareGuestDir({ disk, baseId });
  for (const [name, text] of Object.entries(etc)) {
    const path = `${disk}/upper/etc/${name}`;
    writeFileSync(path, text, { flag: 'wx' });
    chmodSync(path, 0o644);
    chownSync(path, baseId, baseId);
  }
};

/**
 * Mounts the root of a sandbox at `target`: its own upper layer over the shared image, whose owners are shifted to
 * the sandbox's range by an id-mapped view. That is mounted at `lower` in passing: the overlay keeps its own reference.
 * Without a namespace to shift by the image has the sandbox's owners itself, and this process is root in a ground.
 */
export const mountRoot = (options: {
  disk: string;
  rootfs: string;
  target: string;
  lower: string;
  userNamespace: number | undefined;
}): void => {
  const { disk, rootfs, target, lower, userNamespace } = options;
  // A later memory snapshot finds the files that a process watches only through stable handles. What root notes of files in
  // attributes that are its own, others note in their users'.
  const kind = userNamespace === undefined ? 'userxattr' : 'index=on,nfs_export=on';
  mountShifted({ source: rootfs, target: lower, userNamespace });
  try {
    mount({
      source: 'overlay',
      target,
      type: 'overlay',
      flags: MountFlag.nodev,
      data: `lowerdir=${lower},upperdir=${disk}/upper,workdir=${disk}/work,${kind}`,
    });
  } finally {
    unmountEvery(lower);
  }
};

/** Shows `source` at `target` with its owners mapped by the namespace, or as they are without one. */
export const mountShifted = (options: {
  source: string;
  target: string;
  userNamespace: number | undefined;
}): void => {
  const tree = cloneTree(options.source);
  try {
    if (options.userNamespace !== undefined) idMapTree(tree, options.userNamespace);
    attachTree(tree, options.target);
  } finally {
    closeSync(tree);
  }
};
