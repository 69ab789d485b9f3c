import { closeSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { attachTree, cloneTree, idMapTree, MountFlag, mount, unmountEvery } from './syscalls.ts';

/** The folders on a sandbox's own disk. */
export interface DiskLayout {
  /** Holds `upper/`, `work/` and `run/`. */
  disk: string;
  /** Owner of everything inside, seen from the host. */
  baseId: number;
}

const folder = async (path: string, options: { baseId: number; mode: number }): Promise<void> => {
  await mkdir(path, { mode: options.mode });
  await chown(path, options.baseId, options.baseId);
};

/**
 * Lays out a fresh disk. The files that differ from sandbox to sandbox are written straight into the upper layer,
 * never through the merged tree, where a link in a hostile image could lead elsewhere.
 */
export const prepareUpper = async (
  { disk, baseId }: DiskLayout,
  files: { hostname: string; hosts: string; resolvConf: string },
): Promise<void> => {
  const open = { baseId, mode: 0o755 };
  await Promise.all([
    folder(`${disk}/upper`, open),
    folder(`${disk}/work`, open),
    folder(`${disk}/run`, { baseId, mode: 0o700 }),
  ]);
  await Promise.all([
    folder(`${disk}/upper/.envd`, open),
    folder(`${disk}/upper/etc`, open),
    folder(`${disk}/upper/run`, open).then(() => folder(`${disk}/upper/run/envd`, open)),
  ]);
  const entries = { hostname: files.hostname, hosts: files.hosts, 'resolv.conf': files.resolvConf };
  await Promise.all(
    Object.entries(entries).map(async ([name, text]) => {
      const path = `${disk}/upper/etc/${name}`;
      await writeFile(path, text, { mode: 0o644, flag: 'wx' });
      await chown(path, baseId, baseId);
    }),
  );
};

/**
 * Mounts the root of a sandbox at `target`: its own upper layer over the shared image, whose owners are shifted to
 * the sandbox's range by an id-mapped view. The view is needed only while the overlay is being mounted, which keeps
 * its own reference.
 */
export const mountRoot = async (options: {
  layout: DiskLayout;
  rootfs: string;
  target: string;
  /** An empty folder to be made and used in passing. */
  lower: string;
  userNamespace: number;
}): Promise<void> => {
  const { layout, rootfs, target, lower, userNamespace } = options;
  await Promise.all([mkdir(lower), mkdir(target)]);
  mountShifted({ source: rootfs, target: lower, userNamespace });
  try {
    mount({
      source: 'overlay',
      target,
      type: 'overlay',
      flags: MountFlag.nodev,
      // A later memory snapshot finds the files that a process watches only through stable handles.
      data: `lowerdir=${lower},upperdir=${layout.disk}/upper,workdir=${layout.disk}/work,index=on,nfs_export=on`,
    });
  } finally {
    unmountEvery(lower);
  }
};

/** What root owns in `source` belongs to the namespace's root in `target`. */
const mountShifted = (options: { source: string; target: string; userNamespace: number }): void => {
  const tree = cloneTree(options.source);
  try {
    idMapTree(tree, options.userNamespace);
    attachTree(tree, options.target);
  } finally {
    closeSync(tree);
  }
};
