import { RuntimeError } from '../../error.ts';
import { flushDisk } from './close-disk.ts';
import { copyDisk } from './copy-disk.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { verifyDisk } from './kept-disk.ts';
import type { SandboxRecord } from './record.ts';

/**
 * Makes a copy of a running sandbox's disk at `to`, of one moment for which its processes stand still. What takes time
 * and does not depend on that moment is done before it.
 */
export const captureRunning = async (host: OciHost, record: SandboxRecord, to: string): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const cgroup = host.cgroup(record.spec.id);
  await flushDisk(folder.disk);
  // What this copies may be of many moments; the next copies over it.
  await copyDisk(folder.image, to);
  try {
    await cgroup.freeze();
    await captureFrozen(host, record, to);
  } finally {
    await cgroup.thaw();
  }
};

/**
 * As `captureRunning`, for a caller that holds the processes and lets them go afterwards. What there is may be a file
 * system that was not unmounted: `repair` is to follow, and does not need the sandbox to stand still.
 */
export const captureFrozen = async (host: OciHost, record: SandboxRecord, to: string): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  await flushDisk(folder.disk);
  await copyDisk(folder.image, to);
};

/** Makes a copy of a paused sandbox's disk at `to`. Rejects with `damaged` when it is not as the pause left it. */
export const capturePaused = async (host: OciHost, record: SandboxRecord, to: string): Promise<void> => {
  const { image } = toSandboxFolder(host.dataDir, record.spec.id);
  await verifyDisk(image, record.kept).catch((error: Error) => {
    throw new RuntimeError('damaged', error.message, { cause: error });
  });
  await copyDisk(image, to);
};
