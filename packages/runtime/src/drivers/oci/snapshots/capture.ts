import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { type PacketStop, stopPackets } from '../../../network/packet-stop.ts';
import type { Sentry } from '../container/oci-runtime.ts';
import { readPid } from '../container/read-pid.ts';
import { type Checkpoint, requireUntouched, shareImages } from '../criu/checkpoint.ts';
import type { Criu } from '../criu/criu.ts';
import { dumpMemory } from '../criu/dump.ts';
import { freezeAtRest } from '../criu/freeze-at-rest.ts';
import { letRunOn } from '../criu/let-run-on.ts';
import { waitForQuiet } from '../criu/quiet.ts';
import { copyDisk } from '../disk/copy-disk.ts';
import { verifyDisk } from '../disk/kept-disk.ts';
import { createRepeatedCopy } from '../disk/repeated-copy.ts';
import { toSandboxFolder } from '../folder.ts';
import { holdSentry, runOn } from '../gvisor/hold-sentry.ts';
import type { OciHost } from '../host.ts';
import type { SandboxRecord } from '../record.ts';
import type { Captured } from './snapshot-record.ts';

/** Where the parts of a snapshot go. */
export interface CaptureTarget {
  image: string;
  memory: string;
  /** What writes the processes, which are captured as well then. */
  writer: MemoryWriter | undefined;
}

/** CRIU from the host's kernel, or a kernel of the sandbox's own. */
export type MemoryWriter = { criu: Criu } | { sentry: Sentry };

/**
 * Makes a copy of a running sandbox's disk, and of its processes, of one moment for which they stand still. What takes
 * time and does not depend on that moment is done before it. What there is may be a file system that was not unmounted:
 * `repair` is to follow, and does not need the sandbox to stand still.
 */
export const captureRunning = async (
  host: OciHost,
  record: SandboxRecord,
  { image, memory: imagesDir, writer }: CaptureTarget,
): Promise<Captured> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const copy = createRepeatedCopy({ disk: folder.disk, image: folder.image, to: image });
  // What this copies may be of many moments.
  await copy();
  const memory = await captureHeld({ host, record, imagesDir, writer, copy });
  return { record, memory };
};

/** Calls `copy` while the sandbox stands still, at the moment of which its processes are written, where they are. */
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
  await runOn(host, record);
  return memory;
};

const captureByCriu = async (
  host: OciHost,
  record: SandboxRecord,
  { criu, imagesDir, copy }: { criu: Criu; imagesDir: string; copy: () => Promise<void> },
): Promise<Checkpoint> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const cgroup = host.cgroup(record.spec.id);
  await waitForQuiet(await cgroup.members());
  const first = await readPid(folder);
  await freezeAtRest(cgroup, first);
  let packets: PacketStop | undefined;
  try {
    packets = await stopPackets(first);
    // Beside that, what they wrote last: at its end there is only left what names CRIU has given to files.
    const [memory] = await settleAll([
      dumpMemory({ host, criu }, record, { imagesDir, whileHeld: copy }),
      copy(),
    ]);
    await packets.end();
    await cgroup.thaw();
    return memory;
  } catch (error) {
    await letRunOn(cgroup, { reusing: folder.reusing, packets });
    throw error;
  }
};

/**
 * As `captureRunning`, of what a pause has kept. Rejects with `damaged` when that is not as the pause left it, and with
 * `unsupported` when processes are asked for that the pause did not keep.
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
