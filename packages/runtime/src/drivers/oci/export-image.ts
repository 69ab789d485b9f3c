import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { MountFlag, mount, unmountEvery } from '../../kernel/syscalls.ts';
import type { ExportedImage, SnapshotId } from '../../runtime.ts';
import { verifyDisk } from './disk/kept-disk.ts';
import { requireRoomFor } from './disk/require-room.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { levelOf } from './levels.ts';
import { chooseLevel } from './opened-levels.ts';
import type { SandboxRecord } from './record.ts';
import { toStepError } from './step-error.ts';

const prefix = 'export-';

/** The mount points of one export. */
const toPlaces = (scratch: string) => ({
  scratch,
  /** The disk, with the owners that its files have inside. */
  disk: `${scratch}/disk`,
  /** What becomes the file system: one folder. */
  tree: `${scratch}/tree`,
  rootfs: `${scratch}/tree/rootfs`,
});

const clear = ({ scratch, disk, rootfs }: ReturnType<typeof toPlaces>): void => {
  unmountEvery(rootfs);
  unmountEvery(disk);
  // Both are read-only: what could not be unmounted cannot be deleted either.
  rmSync(scratch, { recursive: true, force: true });
};

/** Removes what an earlier process was exporting when it was killed. */
export const sweepExports = (dataDir: string): void => {
  const scratchDir = `${dataDir}/run`;
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(scratchDir))
    if (name.startsWith(prefix)) clear(toPlaces(`${scratchDir}/${name}`));
};

/**
 * Writes the files of a paused sandbox, its own over those of its image, as a new image at `path`. Rejects with
 * `damaged` when the disk differs from what the pause left, and as `writeImage` does; leaves no image then.
 */
export const exportImage = async (
  host: OciHost,
  record: SandboxRecord,
  options: ExportOptions,
): Promise<ExportedImage> => {
  const { image } = toSandboxFolder(host.dataDir, record.spec.id);
  await verifyDisk(host.disks, image, record.kept).catch((error: Error) => {
    throw new RuntimeError('damaged', error.message, { cause: error });
  });
  const { diskBaseId: baseId, spec } = record;
  return writeFiles(host, { image, baseId, rootfs: spec.rootfs }, options);
};

/**
 * Writes the files of a snapshot as `exportImage` does those of a sandbox. Rejects as `openFiles` and `writeImage` do, and with
 * `unsupported` for a level that this host does not run or where it does not capture disks; leaves no image then.
 */
export const exportSnapshot = async (
  host: OciHost,
  id: SnapshotId,
  options: ExportOptions,
): Promise<ExportedImage> => {
  const { dataDir } = host;
  const { signal } = options;
  if (!host.capturesDisks) throw new RuntimeError('unsupported', 'this host has no snapshots');
  try {
    const { contents, folder } = await host.snapshots.openFiles(id);
    await chooseLevel(host, [levelOf(contents).name], `snapshot ${id}`);
    const { diskBaseId: baseId, rootfs } = contents;
    return await writeFiles(host, { image: folder.image, baseId, rootfs }, options);
  } catch (error) {
    throw await toStepError(error, { step: `exporting snapshot ${id}`, dataDir, ...(signal && { signal }) });
  }
};

interface ExportOptions {
  path: string;
  signal: AbortSignal | undefined;
}

/** Writes the files of a disk at rest over those of the image below it. */
const writeFiles = async (
  host: OciHost,
  { image, baseId, rootfs }: { image: string; baseId: number; rootfs: string },
  { path, signal }: ExportOptions,
): Promise<ExportedImage> => {
  const user = `${prefix}${randomUUID()}`;
  const places = toPlaces(`${host.dataDir}/run/${user}`);
  try {
    const lower = await host.roots.open(rootfs, user);
    await mkdir(places.rootfs, { recursive: true, mode: 0o700 });
    const disk = await host.disks.show({ image, target: places.disk, baseId });
    mount({
      source: 'overlay',
      target: places.rootfs,
      type: 'overlay',
      flags: MountFlag.readOnly | MountFlag.nodev | MountFlag.nosuid | MountFlag.noexec,
      data: `lowerdir=${disk}/upper:${lower}${host.shiftsImages ? '' : ',userxattr'}`,
    });
    return await host.writeImage({
      folder: places.tree,
      path,
      signal,
      requireRoom: (sizeBytes) => requireRoomFor(host.dataDir, sizeBytes),
    });
  } finally {
    clear(places);
    host.roots.release(user);
  }
};
