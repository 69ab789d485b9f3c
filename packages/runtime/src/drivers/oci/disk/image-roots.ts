import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { lstat, rmdir, stat } from 'node:fs/promises';
import { createSerialQueue } from '../../../concurrency/serial-queue.ts';
import { RuntimeError } from '../../../error.ts';
import { unmountEveryAside } from '../../../kernel/syscalls.ts';
import { toSandboxFolder } from '../folder.ts';
import type { SandboxRecord } from '../record.ts';
import { isMountPoint, mountDisk } from './disk.ts';
import type { Roots } from './roots.ts';

/** The folder of an image file that holds the tree. Beside it is what every file system of its kind has. */
const TREE = 'rootfs';
const prefix = 'image-';
/** An image stays mounted so long after its last user: the next sandbox of it finds its pages in memory. */
const KEEP_MS = 5_000;

interface Mounted {
  readonly target: string;
  readonly users: Set<string>;
  /** Ends the mount when the image has had no user for a while. */
  idle?: NodeJS.Timeout | undefined;
  /** Resolves with the folder of the tree. */
  ready: Promise<string>;
}

/**
 * Mounts each image file once for all sandboxes, read-only, at a path below `run/` that follows from its name. A later
 * process finds the mount there, and unmounts what no record of a sandbox names. A running sandbox does not need the
 * mount: its root keeps a reference to the file system.
 */
export const createImageRoots = (dataDir: string): Roots => {
  const scratchDir = `${dataDir}/run`;
  const mounted = new Map<string, Mounted>();
  /** Mounting and unmounting never overlap. */
  const { run: inTurn, settled } = createSerialQueue();

  const toTarget = (image: string): string =>
    `${scratchDir}/${prefix}${createHash('sha256').update(image).digest('hex').slice(0, 16)}`;

  const unmountAt = async (target: string): Promise<void> => {
    await unmountEveryAside(target);
    await rmdir(target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  };

  const mountAt = async (image: string, target: string): Promise<string> => {
    if (!isMountPoint(target)) {
      await unmountAt(target);
      await mountDisk({ image, target, readOnly: true });
    }
    const tree = `${target}/${TREE}`;
    // A missing folder, and one with a damaged file system, is not an image: reported below.
    const found = await lstat(tree).catch(() => undefined);
    if (found?.isDirectory()) return tree;
    await unmountAt(target);
    throw new RuntimeError('internal', `the image ${image} has no folder ${TREE}`);
  };

  const entryOf = (image: string): Mounted => {
    const known = mounted.get(image);
    if (known) return known;
    const target = toTarget(image);
    const entry: Mounted = {
      target,
      users: new Set(),
      ready: inTurn(() => mountAt(image, target)),
    };
    mounted.set(image, entry);
    entry.ready.catch(() => {
      if (mounted.get(image) === entry) mounted.delete(image);
    });
    return entry;
  };

  const unmountIdle = async (image: string, entry: Mounted): Promise<void> => {
    if (entry.users.size > 0 || mounted.get(image) !== entry) return;
    mounted.delete(image);
    await inTurn(() => unmountAt(entry.target));
  };

  const unmountLater = (image: string, entry: Mounted): void => {
    clearTimeout(entry.idle);
    entry.idle = setTimeout(() => {
      // The next start and "skerry down" unmount what stays mounted now.
      unmountIdle(image, entry).catch((error: unknown) =>
        console.error('an image could not be unmounted:', error),
      );
    }, KEEP_MS);
    entry.idle.unref();
  };

  const adopt = (): void => {
    mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
    const imageOf = new Map<string, string>();
    for (const { id, image } of readUsers(dataDir)) {
      const target = toTarget(image);
      imageOf.set(target, image);
      if (!isMountPoint(target)) continue;
      const entry = mounted.get(image);
      if (entry) entry.users.add(id);
      else mounted.set(image, { target, users: new Set([id]), ready: Promise.resolve(`${target}/${TREE}`) });
    }
    for (const name of readdirSync(scratchDir)) {
      const target = `${scratchDir}/${name}`;
      if (!name.startsWith(prefix) || imageOf.has(target)) continue;
      inTurn(() => unmountAt(target)).catch((error: unknown) =>
        console.error('an image of an earlier process could not be unmounted:', error),
      );
    }
  };
  adopt();

  return {
    open: async (rootfs, user) => {
      const found = await stat(rootfs).catch((cause: unknown) => {
        throw new RuntimeError('internal', `there is no image ${rootfs}`, { cause });
      });
      if (found.isDirectory()) return rootfs;
      for (;;) {
        const entry = entryOf(rootfs);
        entry.users.add(user);
        clearTimeout(entry.idle);
        const tree = await entry.ready;
        if (isMountPoint(entry.target)) return tree;
        // Another program has unmounted it.
        if (mounted.get(rootfs) === entry) mounted.delete(rootfs);
      }
    },
    release: (user) => {
      for (const [image, entry] of mounted)
        if (entry.users.delete(user) && entry.users.size === 0) unmountLater(image, entry);
    },
    close: async () => {
      for (const [image, entry] of mounted) {
        clearTimeout(entry.idle);
        await unmountIdle(image, entry);
      }
      await settled();
    },
  };
};

/** The sandboxes of an earlier process, with their images. */
function* readUsers(dataDir: string): Generator<{ id: string; image: string }> {
  for (const id of listFolders(`${dataDir}/sandboxes`)) {
    // A damaged record must not stop the helper.
    const image: unknown = readRecordNow(toSandboxFolder(dataDir, id).record)?.spec?.rootfs;
    if (typeof image === 'string') yield { id, image };
  }
}

const listFolders = (path: string): string[] => {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};

const readRecordNow = (path: string): { spec?: Partial<SandboxRecord['spec']> } | null | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { spec?: Partial<SandboxRecord['spec']> } | null;
  } catch {
    return undefined; // None, or an incomplete one: the sandbox can only be removed.
  }
};
