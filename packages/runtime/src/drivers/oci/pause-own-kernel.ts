import { mkdir, rm } from 'node:fs/promises';
import { flushDisk } from './close-disk.ts';
import { readHostBootId } from './dump.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { toMemoryDeadlineMs } from './memory-deadline.ts';
import type { OwnKernel } from './oci-runtime.ts';
import { type SandboxRecord, writeRecord } from './record.ts';
import { toStartError } from './start-error.ts';

/**
 * As `beginPause`, of a sandbox whose kernel writes down what is inside. Rejects when that fails: everything inside runs on
 * then, with `unavailable` where somebody stays connected to the agent or the agent does not take part.
 */
export const beginOwnKernelPause = async (
  host: OciHost,
  record: SandboxRecord,
  { ownKernel }: { ownKernel: OwnKernel },
): Promise<SandboxRecord> => {
  const { id, limits } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const container = { id, folder, signal: AbortSignal.timeout(toMemoryDeadlineMs(limits.memoryBytes)) };
  await rm(folder.memory, { recursive: true, force: true });
  // Also tells whoever comes after a crash that something may stand still.
  await mkdir(folder.memory, { mode: 0o700 });
  try {
    // Most of it while they still run: what is left when they stand still is little.
    await flushDisk(folder.disk);
    await ownKernel.hold(container);
    await ownKernel.write({ ...container, imagesDir: folder.memory });
    await flushDisk(folder.disk);
    const memory = { hostBootId: await readHostBootId() };
    const pausing: SandboxRecord = { ...record, phase: 'pausing', memory };
    await writeRecord(folder.record, pausing);
    return pausing;
  } catch (error) {
    // Asked while what may have filled the disk is still there.
    const failure = await toStartError(error, { step: `keeping sandbox ${id}`, dataDir: host.dataDir });
    await runOn(host, record);
    throw failure;
  }
};

const RELEASE_DEADLINE_MS = 10_000;

/** Lets everything inside go on, from wherever a pause with memory was; the agent can be reached when it resolves. */
export const runOn = async (host: OciHost, { spec: { id } }: SandboxRecord): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, id);
  const signal = AbortSignal.timeout(RELEASE_DEADLINE_MS);
  const container = { id, folder, signal };
  await host.runtime.ownKernel?.release(container);
  await host.runtime.ownKernel?.reopen(container);
  await rm(folder.memory, { recursive: true, force: true });
};
