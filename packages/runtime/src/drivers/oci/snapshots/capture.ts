import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { type PacketStop, stopPackets } from '../../../network/packet-stop.ts';
import type { Sentry } from '../container/oci-runtime.ts';
import { readPid } from '../container/read-pid.ts';
import { type Checkpoint, requireUntouched, shareImages } from '../criu/checkpoint.ts';
import { continueProcesses } from '../criu/continue-processes.ts';
import type { Criu } from '../criu/criu.ts';
import { dumpMemory } from '../criu/dump.ts';
import { freezeAtRest } from '../criu/freeze-at-rest.ts';
import { waitForClosedHostConnections } from '../criu/host-connections.ts';
import { copyDisk } from '../disk/copy-disk.ts';
import { verifyDisk } from '../disk/kept-disk.ts';
import { createRepeatedCopy } from '../disk/repeated-copy.ts';
import { toSandboxFolder } from '../folder.ts';
import { holdSentry, releaseSentry } from '../gvisor/hold-sentry.ts';
import type { OciHost } from '../host.ts';
import type { SandboxRecord } from '../record.ts';
import type { Captured } from './snapshot-record.ts';

/** The paths of the parts of a snapshot. */
export interface CaptureTarget {
  image: string;
  memory: string;
  /** What dumps the processes, which are captured as well then. */
  writer: MemoryWriter | undefined;
}

/** CRIU, or the sandbox's sentry. */
export type MemoryWriter = { criu: Criu } | { sentry: Sentry };

/**
 * Copies a running sandbox's disk, and its processes, at one moment for which they are frozen. What takes time and does
 * not depend on that moment is done before. The copy may be a file system that was not unmounted: `repair` must follow,
 * without a frozen sandbox.
 */
export const captureRunning = async (
  host: OciHost,
  record: SandboxRecord,
  { image, memory: imagesDir, writer }: CaptureTarget,
): Promise<Captured> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const copy = createRepeatedCopy({ disk: folder.disk, image: folder.image, to: image });
  // This copy may be of many moments.
  await copy();
  const memory = await captureHeld({ host, record, imagesDir, writer, copy });
  return { record, memory };
};

/** Calls `copy` while the sandbox is frozen, at the moment at which its processes are dumped, if they are. */
const captureHeld = async (options: {
  host: OciHost;
  record: SandboxRecord;
  imagesDir: string;
  writer: MemoryWriter | undefined;
  copy: () => Promise<void>;
}): Promise<Checkpoint | undefined> => {
  const { host, record, imagesDir, writer, copy } = options;
  if (writer === undefined) {
    const cgroup = host.cgroup(record.spec.id);
    await cgroup.freeze();
    try {
      await copy();
    } finally {
      await cgroup.thaw();
    }
    return undefined;
  }
  if ('criu' in writer) return captureByCriu(host, record, { criu: writer.criu, imagesDir, copy });
  const whileHeld = async (kept: Checkpoint): Promise<Checkpoint> => {
    await copy();
    return kept;
  };
  const memory = await holdSentry(host, record, { ...writer, imagesDir, whileHeld });
  await releaseSentry(host, record);
  return memory;
};

const captureByCriu = async (
  host: OciHost,
  record: SandboxRecord,
  { criu, imagesDir, copy }: { criu: Criu; imagesDir: string; copy: () => Promise<void> },
): Promise<Checkpoint> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const cgroup = host.cgroup(record.spec.id);
  await waitForClosedHostConnections(await cgroup.members());
  const first = readPid(folder);
  await freezeAtRest(cgroup, first);
  let packets: PacketStop | undefined;
  try {
    packets = await stopPackets(first);
    // The disk is copied during the dump. After the dump, only the names that CRIU has changed are copied.
    const [memory] = await settleAll([
      dumpMemory({ host, criu }, record, { imagesDir, whileHeld: copy }),
      copy(),
    ]);
    await packets.end();
    await cgroup.thaw();
    return memory;
  } catch (error) {
    await continueProcesses(cgroup, { reusing: folder.reusing, packets });
    throw error;
  }
};

/**
 * Captures a paused sandbox, otherwise as `captureRunning` does. Rejects with `damaged` when it differs from
 * what the pause left, and with `unsupported` when processes are requested that the pause did not keep.
 */
export const capturePaused = async (
  host: OciHost,
  record: SandboxRecord,
  { image, memory: imagesDir, writer }: CaptureTarget,
): Promise<Captured> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const { memory } = record;
  if (writer && !memory?.images)
    throw new RuntimeError('unsupported', 'the sandbox was paused without its memory');
  await verifyDisk(host.disks, folder.image, record.kept).catch((error: Error) => {
    throw new RuntimeError('damaged', error.message, { cause: error });
  });
  await copyDisk(folder.image, image);
  if (!writer || !memory?.images) return { record, memory: undefined };
  requireUntouched(folder.memory, memory.images);
  shareImages(memory.images, { from: folder.memory, to: imagesDir });
  return { record, memory };
};
