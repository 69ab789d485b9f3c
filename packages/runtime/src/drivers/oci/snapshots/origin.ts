import { RuntimeError } from '../../../error.ts';
import type { InstanceSpec, SnapshotId } from '../../../runtime.ts';
import { type Checkpoint, isCriuMemory, shareImages } from '../criu/checkpoint.ts';
import { copyDisk } from '../disk/copy-disk.ts';
import { type SnapshotFolder, toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { levelOf, type RecordedLevel } from '../levels.ts';
import { chooseLevel, openedLevel } from '../opened-levels.ts';
import type { SandboxRecord } from '../record.ts';
import { reopenDisk } from '../resume.ts';
import { makeDisk } from '../start.ts';
import { nameCopy } from './name-copy.ts';
import type { SnapshotContents } from './snapshot-record.ts';

/** The origin of a new sandbox. */
export interface Origin {
  /** The part of its record about that. */
  readonly rootfs: string;
  readonly snapshot?: SnapshotId;
  readonly level?: NonNullable<RecordedLevel['level']>;
  /** The processes to restore, and the agent's folder that they need. */
  readonly memory?: Checkpoint;
  readonly agentDir?: string;
  /** Undefined: the disk is made new. */
  readonly diskBaseId: number | undefined;
  /** Links the images of the processes into the folder of that sandbox. */
  prepareMemory(id: string): void;
  /** Makes the disk of the sandbox of that record with its folders, and mounts it at the folder's `disk`. */
  prepareDisk(record: SandboxRecord): Promise<void>;
}

/**
 * Rejects with `not_found` and `damaged` for a snapshot that cannot be used, `internal` when the disk has another size,
 * `unsupported` when this host cannot restore it, or only at a lower level, or its memory only at a lower one than is asked for.
 */
export const openOrigin = async (
  host: OciHost,
  spec: InstanceSpec,
  signal?: AbortSignal,
): Promise<Origin> => {
  const { isolation: asked } = spec;
  if ('rootfs' in spec) {
    const { rootfs } = spec;
    return {
      rootfs,
      ...(await chooseLevel(host, [asked ?? host.defaultLevel], `sandbox ${spec.id}`, signal)).recorded,
      diskBaseId: undefined,
      prepareMemory: () => {},
      prepareDisk: (record) => makeDisk(host, record),
    };
  }
  const { snapshot } = spec;
  const origin = await host.snapshots.open(snapshot);
  const { rootfs, diskBaseId, diskBytes, memory, agentDir } = origin.contents;
  const own = levelOf(origin.contents);
  const level = await chooseLevel(
    host,
    asked ? [own.name, asked] : [own.name],
    `snapshot ${snapshot}`,
    signal,
  );
  if (diskBytes !== spec.limits.diskBytes) {
    throw new RuntimeError('internal', `the disk of snapshot ${snapshot} has ${diskBytes} bytes`);
  }
  if (memory && level.name !== own.name)
    throw new RuntimeError(
      'unsupported',
      `the memory of snapshot ${snapshot} is of level ${own.name}, and cannot be restored at level ${level.name}`,
    );
  const { criu, sentry } = openedLevel(host, level.recorded);
  if (memory && !(isCriuMemory(memory) ? criu : sentry))
    throw new RuntimeError('unsupported', 'this host cannot restore the memory of a snapshot');
  return {
    rootfs,
    snapshot,
    ...level.recorded,
    diskBaseId,
    ...(memory && { memory }),
    ...(agentDir !== undefined && { agentDir }),
    prepareMemory: (id) => {
      const { images } = memory ?? {};
      const { memory: to } = toSandboxFolder(host.dataDir, id);
      if (images) shareImages(images, { from: origin.folder.memory, to });
    },
    prepareDisk: (record) => copyOrigin(host, record, origin),
  };
};

const copyOrigin = async (
  host: OciHost,
  record: SandboxRecord,
  origin: { contents: SnapshotContents; folder: SnapshotFolder },
): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  await copyDisk(origin.folder.image, folder.image);
  await reopenDisk(host, record);
  nameCopy({ disk: folder.disk, hostname: record.spec.hostname });
};
