import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { MountFlag, mount, unmountEvery } from '../../kernel/syscalls.ts';
import type { ExportedImage } from '../../runtime.ts';
import { verifyDisk } from './disk/kept-disk.ts';
import { requireRoomFor } from './disk/require-room.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import type { SandboxRecord } from './record.ts';

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
  { path, signal }: { path: string; signal: AbortSignal | undefined },
): Promise<ExportedImage> => {
  const { image } = toSandboxFolder(host.dataDir, record.spec.id);
  await verifyDisk(host.disks, image, record.kept).catch((error: Error) => {
    throw new RuntimeError('damaged', error.message, { cause: error });
  });
  const places = toPlaces(`${host.dataDir}/run/${prefix}${randomUUID()}`);
  const user = `export-${record.spec.id}`;
  try {
    const lower = await host.roots.open(record.spec.rootfs, user);
    await mkdir(places.rootfs, { recursive: true, mode: 0o700 });
    const disk = await host.disks.show({ image, target: places.disk, baseId: record.diskBaseId });
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
