import { closeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRuntimeError } from '../../../error.ts';
import { createLivenessPipe } from '../container/liveness-pipe.ts';
import type { Sentry } from '../container/oci-runtime.ts';
import { readPid } from '../container/read-pid.ts';
import type { Checkpoint } from '../criu/checkpoint.ts';
import { readHostBootId } from '../criu/dump.ts';
import { toMemoryDeadlineMs } from '../criu/memory-deadline.ts';
import { toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { levelOf } from '../levels.ts';
import { openedLevel } from '../opened-levels.ts';
import type { SandboxRecord } from '../record.ts';
import { toStepError } from '../step-error.ts';
import { requireNoSocketFiles } from './require-no-socket-files.ts';

/**
 * Makes the sentry of a sandbox write its checkpoint to `imagesDir`, not yet to the medium, and calls `whileHeld`, all
 * while everything inside is frozen. Everything is still frozen when this resolves. When this rejects, everything runs
 * again, or could not be thawed: with an `ObstacleError` where something inside cannot be checkpointed, with `unavailable`
 * where the agent does not respond, with `internal` or `exhausted` where runsc or the host fails, or as `whileHeld`.
 */
export const holdSentry = async <T>(
  host: OciHost,
  record: SandboxRecord,
  options: {
    sentry: Sentry;
    imagesDir: string;
    whileHeld: (memory: Checkpoint) => Promise<T>;
  },
): Promise<T> => {
  const { sentry, imagesDir, whileHeld } = options;
  const { id, limits } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const signal = AbortSignal.timeout(toMemoryDeadlineMs(limits.memoryBytes));
  await rm(folder.memory, { recursive: true, force: true });
  // This folder also shows a process after a crash that something may be stopped.
  await mkdir(folder.memory, { mode: 0o700 });
  const hostClass = openedLevel(host, record).readClass();
  try {
    await mkdir(imagesDir, { mode: 0o700, recursive: true });
    // A program that stops something outlives this process when it is killed.
    const { line, writeFd } = createLivenessPipe(folder.dumpPipe);
    try {
      const container = { id, folder, signal, lineFd: writeFd };
      await sentry.hold(container);
      const pids = await host.cgroup(id).members();
      await requireNoSocketFiles({ sentry: readPid(folder), pids, signal });
      await sentry.write({ ...container, imagesDir });
    } finally {
      closeSync(writeFd);
      line.close();
    }
    const madeOn = await hostClass;
    return await whileHeld({ hostBootId: await readHostBootId(), ...(madeOn && { madeOn }) });
  } catch (error) {
    // Before the removal of what may have filled the disk.
    const failure = await toStepError(error, {
      step: `checkpointing sandbox ${id}`,
      dataDir: host.dataDir,
    });
    await releaseSentry(host, record);
    throw failure;
  } finally {
    await rm(folder.dumpPipe, { force: true });
  }
};

/** Longer than the waits for the agent together, so that the agent and not a program is named when it is late. */
const RELEASE_DEADLINE_MS = 30_000;
/** A program that continues something may be killed by others, or be late on a busy host. */
const TRIES = 3;
const TRY_AFTER_MS = 100;

/**
 * Continues everything inside, at any stage of `holdSentry`; the agent can be reached when it resolves. Rejects with
 * `unavailable` when everything runs, but the agent does not respond; otherwise something may be stopped, and a later
 * call may try again.
 */
export const releaseSentry = async (host: OciHost, record: SandboxRecord): Promise<void> => {
  const { id } = record.spec;
  const sentry = host.levels[levelOf(record).name]?.runtime.sentry;
  const folder = toSandboxFolder(host.dataDir, id);
  for (let tries = 1; ; tries++) {
    const container = { id, folder, signal: AbortSignal.timeout(RELEASE_DEADLINE_MS) };
    try {
      await sentry?.release(container);
      await sentry?.reopen(container);
      break;
    } catch (error) {
      if (isRuntimeError(error, 'unavailable')) {
        await rm(folder.memory, { recursive: true, force: true });
        throw error;
      }
      if (tries === TRIES) throw error;
      await sleep(TRY_AFTER_MS);
    }
  }
  await rm(folder.memory, { recursive: true, force: true });
};
