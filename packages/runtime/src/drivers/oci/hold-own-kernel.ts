import { mkdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRuntimeError } from '../../error.ts';
import { readHostBootId } from './dump.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { toMemoryDeadlineMs } from './memory-deadline.ts';
import type { KeptMemory } from './memory-image.ts';
import type { OwnKernel } from './oci-runtime.ts';
import type { SandboxRecord } from './record.ts';
import { toStartError } from './start-error.ts';

/**
 * Lets the kernel of a sandbox write what is inside to `imagesDir`, not yet to the medium, and calls `whileHeld`, all of that
 * while everything stands still. So it does when this resolves. When it rejects everything runs on:
 * with `unavailable` where somebody stays connected to the agent or the agent does not take part, or what `whileHeld` rejected with.
 */
export const holdOwnKernel = async <T>(
  host: OciHost,
  record: SandboxRecord,
  options: {
    ownKernel: OwnKernel;
    imagesDir: string;
    whileHeld: (memory: KeptMemory) => Promise<T>;
  },
): Promise<T> => {
  const { ownKernel, imagesDir, whileHeld } = options;
  const { id, limits } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const container = { id, folder, signal: AbortSignal.timeout(toMemoryDeadlineMs(limits.memoryBytes)) };
  await rm(folder.memory, { recursive: true, force: true });
  // Also tells whoever comes after a crash that something may stand still.
  await mkdir(folder.memory, { mode: 0o700 });
  try {
    await mkdir(imagesDir, { mode: 0o700, recursive: true });
    await ownKernel.hold(container);
    await ownKernel.write({ ...container, imagesDir });
    return await whileHeld({ hostBootId: await readHostBootId() });
  } catch (error) {
    // Asked while what may have filled the disk is still there.
    const failure = await toStartError(error, { step: `keeping sandbox ${id}`, dataDir: host.dataDir });
    await runOn(host, record);
    throw failure;
  }
};

const RELEASE_DEADLINE_MS = 10_000;
/** A program by which something is let go on may be killed by others, or come too late on a busy host. */
const TRIES = 5;
const TRY_AFTER_MS = 100;

/** Lets everything inside go on, from wherever `holdOwnKernel` was; the agent can be reached when it resolves. */
export const runOn = async (host: OciHost, { spec: { id } }: SandboxRecord): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, id);
  const signal = AbortSignal.timeout(RELEASE_DEADLINE_MS);
  const container = { id, folder, signal };
  for (let tries = 1; ; tries++) {
    try {
      await host.runtime.ownKernel?.release(container);
      await host.runtime.ownKernel?.reopen(container);
      break;
    } catch (error) {
      // Not when it is the agent that takes no part.
      if (tries === TRIES || signal.aborted || isRuntimeError(error, 'unavailable')) throw error;
      await sleep(TRY_AFTER_MS);
    }
  }
  await rm(folder.memory, { recursive: true, force: true });
};
