import { RuntimeError } from '../../error.ts';
import { type PacketStop, stopPackets } from '../../network/packet-stop.ts';
import { flushDisk } from './close-disk.ts';
import { copyDisk } from './copy-disk.ts';
import type { Criu } from './criu.ts';
import { dumpMemory } from './dump.ts';
import { toSandboxFolder } from './folder.ts';
import { freezeAtRest } from './freeze-at-rest.ts';
import type { OciHost } from './host.ts';
import { verifyDisk } from './kept-disk.ts';
import { letRunOn } from './let-run-on.ts';
import { type KeptMemory, requireUntouched, shareImages } from './memory-image.ts';
import { waitForQuiet } from './quiet.ts';
import { readPid } from './read-pid.ts';
import type { SandboxRecord } from './record.ts';

/** Where the parts of a snapshot go. `criu` is there when its processes are to be captured as well. */
export interface CaptureTarget {
  image: string;
  memory: string;
  criu: Criu | undefined;
}

/** The sandbox that was captured, and its processes where these were asked for. */
export interface Captured {
  record: SandboxRecord;
  memory: KeptMemory | undefined;
}

/**
 * Makes a copy of a running sandbox's disk, and of its processes, of one moment for which they stand still. What takes
 * time and does not depend on that moment is done before it. What there is may be a file system that was not unmounted:
 * `repair` is to follow, and does not need the sandbox to stand still.
 */
export const captureRunning = async (
  host: OciHost,
  record: SandboxRecord,
  { image, memory: imagesDir, criu }: CaptureTarget,
): Promise<Captured> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const cgroup = host.cgroup(record.spec.id);
  await flushDisk(folder.disk);
  // What this copies may be of many moments; the next copies over it.
  await copyDisk(folder.image, image);
  if (criu) await waitForQuiet(await cgroup.members());
  const first = await readPid(folder);
  await (criu ? freezeAtRest(cgroup, first) : cgroup.freeze());
  let packets: PacketStop | undefined;
  try {
    packets = criu && (await stopPackets(first));
    const copy = async (): Promise<void> => {
      await flushDisk(folder.disk);
      await copyDisk(folder.image, image);
    };
    const memory = criu && (await dumpMemory({ host, criu }, record, { imagesDir, whileHeld: copy }));
    if (!criu) await copy();
    await packets?.end();
    await cgroup.thaw();
    return { record, memory };
  } catch (error) {
    await (criu ? letRunOn(cgroup, { reusing: folder.reusing, packets }) : cgroup.thaw());
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
  { image, memory: imagesDir, criu }: CaptureTarget,
): Promise<Captured> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const { memory } = record;
  if (criu && !memory?.images)
    throw new RuntimeError('unsupported', 'the sandbox was paused without its memory');
  await verifyDisk(host.disks, folder.image, record.kept).catch((error: Error) => {
    throw new RuntimeError('damaged', error.message, { cause: error });
  });
  await copyDisk(folder.image, image);
  if (!criu || !memory?.images) return { record, memory: undefined };
  requireUntouched(folder.memory, memory.images);
  shareImages(memory.images, { from: folder.memory, to: imagesDir });
  return { record, memory };
};
