import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { mountShifted } from '../../../kernel/shifted-mount.ts';
import { MountFlag, mount, unmountEvery } from '../../../kernel/syscalls.ts';

// These writes stay in the page cache: handing them to other threads takes four times the work, and twice as long.

const folder = (path: string, options: { baseId: number; mode: number }): void => {
  mkdirSync(path);
  // Explicitly: the umask of this process must not show inside.
  chmodSync(path, options.mode);
  chownSync(path, options.baseId, options.baseId);
};

/** Makes the folder of the agent for one run. */
export const prepareGuestDir = ({ disk, baseId }: { disk: string; baseId: number }): void =>
  folder(`${disk}/run`, { baseId, mode: 0o700 });

/**
 * Creates the folders of a fresh disk: `upper/`, `work/` and the agent's `run/`. The files in /etc that differ from
 * sandbox to sandbox are written straight into the upper layer, never through the merged tree, where a link in a
 * hostile image could lead elsewhere. `baseId` is root inside as seen from the host.
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
 * Mounts the root of a sandbox at `target`: its own upper layer over the shared image, whose owners are shifted to the
 * sandbox's range by an id-mapped mount. That is mounted at `lower` only meanwhile: the overlay keeps its own
 * reference. Without a user namespace the image has the sandbox's owners already, and this process is root in a
 * rootless namespace.
 */
export const mountRoot = (options: {
  disk: string;
  rootfs: string;
  target: string;
  lower: string;
  userNamespace: number | undefined;
}): void => {
  const { disk, rootfs, target, lower, userNamespace } = options;
  // A later memory snapshot can only dump files that a process watches if the overlay has these options. Root
  // stores overlay attributes as trusted.overlay.*, other users as user.overlay.*.
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
