import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { isRuntimeError, RuntimeError, toRuntimeError } from '../../error.ts';
import { isInstanceId } from '../../instance-spec.ts';
import type { SnapshotId, SnapshotInfo, Snapshots } from '../../runtime.ts';
import { repair } from './close-disk.ts';
import { toSnapshotFolder, toSnapshotsDir } from './folder.ts';
import { isCleanDisk } from './kept-disk.ts';
import type { SandboxRecord } from './record.ts';
import { describeSealedDisk, requireSealedDisk } from './sealed-disk.ts';
import {
  keepSnapshotRecord,
  readSealedSnapshot,
  type SealedSnapshot,
  type SnapshotRecord,
  toSealedSnapshot,
} from './snapshot-record.ts';
import { toStartError } from './start-error.ts';
import { syncPath } from './sync-path.ts';
import { unmountEvery } from './syscalls.ts';

/**
 * Keeps snapshots as copies of whole disks, each complete in itself: none rests on another, or on a sandbox, and no
 * sandbox rests on one, so any of them can go at any time. What a process before us was making is removed.
 */
export interface OciSnapshots extends Snapshots {
  /**
   * Makes a snapshot: `capture` puts the copy of a sandbox's disk at the path and resolves with the sandbox's record.
   * Resolves when the snapshot is on the medium, mended, and described; leaves nothing when it rejects.
   */
  make(id: SnapshotId, capture: (image: string) => Promise<SandboxRecord>): Promise<void>;
  /** A snapshot to begin with, and its image. Rejects with `not_found`, and with `damaged` when it is not whole. */
  open(id: SnapshotId): Promise<{ sealed: SealedSnapshot; image: string }>;
}

export const createSnapshots = (dataDir: string): OciSnapshots => {
  sweep(dataDir);
  const toFolder = (id: SnapshotId) => toSnapshotFolder(dataDir, id);

  const require = async (id: SnapshotId): Promise<SealedSnapshot> => {
    const sealed = isInstanceId(id) ? await readSealedSnapshot(toFolder(id).record) : undefined;
    if (sealed === undefined) throw new RuntimeError('not_found', `no snapshot ${id}`);
    return sealed;
  };

  const remove = async (id: SnapshotId): Promise<void> => {
    const { path, view } = toFolder(id);
    unmountEvery(view);
    const doomed = `${path}${doomedSuffix}`;
    try {
      // In one step, so that what is left by whoever is killed in the middle is no snapshot.
      await rename(path, doomed);
      await syncPath(toSnapshotsDir(dataDir));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(doomed, { recursive: true, force: true });
  };

  const claim = async (id: SnapshotId): Promise<void> => {
    await mkdir(toFolder(id).path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw new RuntimeError('already_exists', 'there is a snapshot of this id');
    });
  };

  return {
    make: async (id, capture) => {
      const step = `making snapshot ${id}`;
      const { record, image } = toFolder(id);
      await claim(id);
      try {
        await keepSnapshotRecord(record, { version: 1, phase: 'capturing' });
        const source = await capture(image);
        if (!(await isCleanDisk(image))) await repair(image);
        await syncPath(image);
        await keepSnapshotRecord(record, toSealedSnapshot(source, await describeSealedDisk(image)));
      } catch (error) {
        await remove(id);
        throw toStartError(error, { step });
      }
    },
    open: async (id) => {
      const sealed = await require(id);
      const { image } = toFolder(id);
      await requireSealedDisk(image, sealed.disk);
      return { sealed, image };
    },
    list: async function* (): AsyncGenerator<SnapshotInfo, void, undefined> {
      for (const id of (await readdir(toSnapshotsDir(dataDir))).filter(isInstanceId)) {
        const { record, image } = toFolder(id);
        if ((await readSealedSnapshot(record)) === undefined) continue;
        const { blocks } = await stat(image).catch(() => ({ blocks: 0 }));
        yield { id, sizeBytes: blocks * BLOCK_BYTES };
      }
    },
    verify: async (id) => {
      const { disk } = await require(id);
      const { image } = toFolder(id);
      try {
        await requireSealedDisk(image, { ...disk, stamp: { inode: '', modifiedNs: '', changedNs: '' } });
        return [];
      } catch (error) {
        if (isRuntimeError(error, 'damaged')) return [error.message];
        throw toRuntimeError(error, `verifying snapshot ${id}`);
      }
    },
    delete: async (id) => {
      if (!isInstanceId(id)) return;
      await remove(id).catch((error: unknown) => {
        throw toRuntimeError(error, `removing snapshot ${id}`);
      });
    },
  };
};

const BLOCK_BYTES = 512;

/** Of a folder that is being removed. No id ends like this. */
const doomedSuffix = '.removed';

/** Makes the folder of all snapshots, and removes what is not one: neither complete nor about to be. */
const sweep = (dataDir: string): void => {
  const all = toSnapshotsDir(dataDir);
  mkdirSync(all, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(all)) {
    const { path, record, view } = toSnapshotFolder(dataDir, name);
    unmountEvery(view);
    if (name.endsWith(doomedSuffix) || !isSealed(record)) rmSync(path, { recursive: true, force: true });
  }
};

const isSealed = (record: string): boolean => {
  try {
    return (JSON.parse(readFileSync(record, 'utf8')) as SnapshotRecord).phase === 'sealed';
  } catch {
    // None, or half of one: whoever made it was killed before it was complete.
    return false;
  }
};
