import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { isRuntimeError, RuntimeError, toRuntimeError } from '../../../error.ts';
import { isInstanceId } from '../../../instance-id.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import type { SnapshotId, SnapshotInfo, Snapshots } from '../../../runtime.ts';
import {
  type Checkpoint,
  keepImages,
  listImages,
  requireUntouched,
  verifyImages,
} from '../criu/checkpoint.ts';
import { repair } from '../disk/close-disk.ts';
import { sweepDiskViews, withDiskView } from '../disk/disk-view.ts';
import { isCleanDisk } from '../disk/kept-disk.ts';
import { requireRoom } from '../disk/require-room.ts';
import { describeSealedDisk, requireSealedDisk } from '../disk/sealed-disk.ts';
import { type SnapshotFolder, toSnapshotFolder, toSnapshotsDir } from '../folder.ts';
import { keepRecord } from '../record.ts';
import { toStepError } from '../step-error.ts';
import type { Tree } from './diff-trees.ts';
import { findDamagedFiles } from './find-damaged-files.ts';
import { type ManifestSummary, readManifest, writeManifest } from './manifest.ts';
import { readLayer } from './read-tree.ts';
import {
  type Captured,
  readSealedSnapshot,
  type SealedSnapshot,
  type SnapshotContents,
  type SnapshotRecord,
  toContents,
} from './snapshot-record.ts';
import type { Layer } from './tree-entry.ts';

/**
 * Keeps snapshots as copies of whole disks, each complete in itself: none depends on another, or on a sandbox, and no
 * sandbox depends on one, so any of them can be removed at any time. What an earlier process was making is removed.
 */
export interface OciSnapshots extends Omit<Snapshots, 'diff' | 'exportImage'> {
  /**
   * Makes a snapshot: `capture` writes to these paths and resolves with the sandbox's record. Resolves when the
   * snapshot is on the medium, repaired, and described, with a list of its files unless it is `unlisted`; leaves nothing when
   * it rejects. Rejects with `exhausted` where the disk of the host has only its reserve.
   */
  make(id: SnapshotId, capture: Capture, options: { unlisted: boolean }): Promise<void>;
  /**
   * Makes a snapshot that only this process can open: nothing is repaired, described or on the medium, and
   * for the next process it is no snapshot.
   */
  makeEphemeral(id: SnapshotId, capture: Capture): Promise<void>;
  /**
   * Makes a snapshot of what `write` puts at these paths, on the medium but for their names, and resolves with. Leaves
   * nothing when it rejects: with `already_exists`, or as `write`.
   */
  adopt(id: SnapshotId, write: (to: SnapshotFolder) => Promise<SealedSnapshot>): Promise<void>;
  /**
   * Opens a snapshot to start from, with its image. Rejects with `not_found`, and with `damaged` when it is incomplete
   * or was changed.
   */
  open(id: SnapshotId): Promise<{ contents: SnapshotContents; folder: SnapshotFolder }>;
  /**
   * Opens only the files, otherwise as `open` does; processes are not checked. Rejects for an ephemeral
   * snapshot.
   */
  openFiles(id: SnapshotId): Promise<{ contents: SnapshotContents; folder: SnapshotFolder }>;
  /** Lists its files, by its manifest. Rejects as `open`, and with `unsupported` when they are not listed. */
  tree(id: SnapshotId): Promise<Tree>;
}

type Capture = (to: SnapshotFolder) => Promise<Captured>;

export const createSnapshots = (dataDir: string): OciSnapshots => {
  const scratchDir = `${dataDir}/run`;
  sweep(dataDir);
  sweepDiskViews(scratchDir);
  const passing = new Map<SnapshotId, SnapshotContents>();
  const toFolder = (id: SnapshotId) => toSnapshotFolder(dataDir, id);

  const require = async (id: SnapshotId): Promise<SealedSnapshot> => {
    const sealed = isInstanceId(id) ? await readSealedSnapshot(toFolder(id).record) : undefined;
    if (sealed === undefined) throw new RuntimeError('not_found', `no snapshot ${id}`);
    return sealed;
  };

  const requireWhole = async (id: SnapshotId): Promise<SealedSnapshot> => {
    const sealed = await require(id);
    await requireSealedDisk(toFolder(id).image, sealed.disk);
    return sealed;
  };

  const readLayerOf = (id: SnapshotId, summary: ManifestSummary): Promise<Layer> =>
    readManifest(toFolder(id).manifest, summary);

  const remove = async (id: SnapshotId): Promise<void> => {
    const { path } = toFolder(id);
    if (passing.delete(id)) {
      // A later process does not take this folder for a snapshot, removed or not.
      await rm(path, { recursive: true, force: true });
      return;
    }
    const doomed = `${path}${doomedSuffix}`;
    try {
      // Rename in one step, so that what a killed process leaves is not a snapshot.
      await rename(path, doomed);
      await syncPath(toSnapshotsDir(dataDir));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(doomed, { recursive: true, force: true });
  };

  const claim = async (id: SnapshotId): Promise<void> => {
    await mkdir(toFolder(id).path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw await toStepError(error, { step: `making snapshot ${id}`, dataDir });
      throw new RuntimeError('already_exists', `snapshot ${id} exists already`);
    });
  };

  const sealDisk = async (
    { image, manifest }: SnapshotFolder,
    { baseId, unlisted }: { baseId: number; unlisted: boolean },
  ): Promise<Pick<SealedSnapshot, 'disk' | 'manifest'>> => {
    if (!(await isCleanDisk(image))) await repair(image);
    await syncPath(image);
    if (unlisted) return { disk: await describeSealedDisk(image) };
    const written = await withDiskView({ image, scratchDir }, (view) =>
      writeManifest(manifest, readLayer(`${view}/upper`, { baseId })),
    );
    return { disk: await describeSealedDisk(image), manifest: written };
  };

  const makeIn = async (id: SnapshotId, work: (folder: SnapshotFolder) => Promise<void>): Promise<void> => {
    requireRoom(dataDir);
    await claim(id);
    try {
      await work(toFolder(id));
    } catch (error) {
      const failure = await toStepError(error, { step: `making snapshot ${id}`, dataDir });
      // The remainder is not a snapshot, and the next process that opens this folder removes it.
      await remove(id).catch(() => undefined);
      throw failure;
    }
  };

  return {
    make: (id, capture, { unlisted }) =>
      makeIn(id, async (folder) => {
        await keepRecord(folder.record, { version: 1, phase: 'capturing' });
        const captured = await capture(folder);
        const [disk, memory] = await Promise.all([
          sealDisk(folder, { baseId: captured.record.diskBaseId, unlisted }),
          sealMemory(folder, captured),
        ]);
        const contents = toContents(captured.record, memory);
        await keepRecord(folder.record, { version: 1, phase: 'sealed', ...contents, ...disk });
      }),
    adopt: (id, write) =>
      makeIn(id, async (folder) => {
        await keepRecord(folder.record, { version: 1, phase: 'capturing' });
        await keepRecord(folder.record, await write(folder));
      }),
    makeEphemeral: (id, capture) =>
      makeIn(id, async (folder) => {
        const { record, memory } = await capture(folder);
        const listed = memory && { ...memory, images: memory.images ?? listImages(folder.memory) };
        passing.set(id, toContents(record, listed));
      }),
    open: async (id) => {
      const folder = toFolder(id);
      const contents = passing.get(id) ?? (await requireWhole(id));
      if (contents.memory?.images) requireUntouched(folder.memory, contents.memory.images);
      return { contents, folder };
    },
    openFiles: async (id) => ({ contents: await requireWhole(id), folder: toFolder(id) }),
    list: async function* (): AsyncGenerator<SnapshotInfo, void, undefined> {
      for (const id of (await readdir(toSnapshotsDir(dataDir))).filter(isInstanceId)) {
        const { record, image } = toFolder(id);
        if ((await readSealedSnapshot(record)) === undefined) continue;
        const { blocks } = await stat(image).catch(() => ({ blocks: 0 }));
        yield { id, sizeBytes: blocks * BLOCK_BYTES };
      }
    },
    verify: async (id) => {
      const sealed = await require(id);
      const { image, manifest, memory } = toFolder(id);
      const check = async (work: () => Promise<unknown>): Promise<string[]> => {
        try {
          await work();
          return [];
        } catch (error) {
          if (isRuntimeError(error, 'damaged')) return [error.message];
          throw toRuntimeError(error, `verifying snapshot ${id}`);
        }
      };
      const disk = await check(() => requireSealedDisk(image, { ...sealed.disk, stamp: untrusted }));
      const { manifest: summary } = sealed;
      const listed = summary ? await check(() => readManifest(manifest, summary)) : [];
      const files =
        summary && disk.length > 0 && listed.length === 0
          ? await findDamagedFiles(
              { image, scratchDir, baseId: sealed.diskBaseId },
              await readLayerOf(id, summary),
            )
          : [];
      const { images } = sealed.memory ?? {};
      const processes = images ? await check(() => verifyImages(memory, images)) : [];
      return [...disk, ...listed, ...files, ...processes];
    },
    tree: async (id) => {
      const sealed = await require(id);
      if (sealed.manifest === undefined)
        throw new RuntimeError('unsupported', `the files of snapshot ${id} are not listed`);
      return { rootfs: sealed.rootfs, layer: await readLayerOf(id, sealed.manifest) };
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

/** A value that no image has, so that each is verified. */
const untrusted = { inode: '', modifiedNs: '', changedNs: '' };

const sealMemory = async (folder: SnapshotFolder, { memory }: Captured): Promise<Checkpoint | undefined> =>
  memory && { ...memory, images: memory.images ?? (await keepImages(folder.memory)) };

/** The suffix of a folder that is being removed. No id ends like this. */
const doomedSuffix = '.removed';

/** Makes the folder of all snapshots, and removes incomplete ones that no process is making. */
const sweep = (dataDir: string): void => {
  const all = toSnapshotsDir(dataDir);
  mkdirSync(all, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(all)) {
    const { path, record } = toSnapshotFolder(dataDir, name);
    if (name.endsWith(doomedSuffix) || !isSealed(record)) rmSync(path, { recursive: true, force: true });
  }
};

const isSealed = (record: string): boolean => {
  try {
    return (JSON.parse(readFileSync(record, 'utf8')) as SnapshotRecord).phase === 'sealed';
  } catch {
    // None, or an incomplete one: its maker was killed.
    return false;
  }
};
