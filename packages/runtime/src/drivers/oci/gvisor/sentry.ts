import { closeSync, openSync, writeSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { isRuntimeError, RuntimeError } from '../../../error.ts';
import { createMemoryFile } from '../../../kernel/syscalls.ts';
import { ObstacleError } from '../../../obstacle.ts';
import type { Container, Sentry } from '../container/oci-runtime.ts';
import { waitForEntry, waitForNoEntry } from '../container/ready.ts';
import { forgetInterests } from './workarounds/forget-interests.ts';
import { toHostnameProgram } from './workarounds/hostname-program.ts';
import { readRefusal } from './workarounds/read-refusal.ts';

/** Runs one command of runsc about a container to its end. Rejects with `internal`, and with its output. */
export type RunscCommand = (
  container: Container,
  words: readonly string[],
  options?: { stdin?: number; passes?: readonly string[]; cover?: () => void },
) => Promise<void>;

const CLOSE_DEADLINE_MS = 2_000;
const OPEN_DEADLINE_MS = 8_000;
/** How often a closing connection may prevent a checkpoint, and the wait after each time. */
const TRIES = 5;
const TRY_AFTER_MS = 50;

/** Memory is in files of its own then, which are written and read in a fraction of the time. */
const imageOptions = ['--leave-running', '--compression=none', '--exclude-committed-zero-pages'];

export const createSentry = (run: RunscCommand, readVersion: Sentry['readVersion']): Sentry => ({
  readVersion,
  hold: async (container) => {
    const { id } = container;
    await closeSockets(run, container, CLOSE_DEADLINE_MS);
    // Processes are stopped in the images, so that none runs early after a restore. Twice, for processes that were just
    // started meanwhile.
    for (const _ of [1, 2]) await run(container, ['kill', '--all', id, 'STOP']);
    await run(container, ['pause', id]);
  },
  write: async (container) => {
    const { id, imagesDir, folder } = container;
    for (let tries = 1; ; tries++) {
      // Only what this try writes may explain its failure.
      await rm(folder.ociLog, { force: true });
      try {
        await run(container, ['checkpoint', ...imageOptions, '--image-path', imagesDir, id]);
        await forgetInterests(`${imagesDir}/checkpoint.img`);
        return;
      } catch (error) {
        if (tries === TRIES) {
          const obstacle = isRuntimeError(error, 'internal') ? await readRefusal(folder.ociLog) : undefined;
          throw obstacle === undefined ? error : new ObstacleError(obstacle, { cause: error });
        }
        // Remove the images of the failed try: runsc overwrites none.
        for (const name of await readdir(imagesDir)) await rm(`${imagesDir}/${name}`);
        await sleep(TRY_AFTER_MS, undefined, { signal: container.signal });
      }
    }
  },
  release: async (container) => {
    const { id } = container;
    await run(container, ['resume', id]).catch((error: unknown) => {
      // Refused when it was not paused, or not yet.
      if (!isRuntimeError(error, 'internal')) throw error;
    });
    await run(container, ['kill', '--all', id, 'CONT']);
  },
  rename: async ({ hostname, ...container }) => {
    const program = openProgram(toHostnameProgram(hostname));
    try {
      // Give the process a capability that no other process inside has, which distinguishes it from all
      // others.
      const rights = ['--user', '0', '--cap', 'CAP_SYS_ADMIN'];
      await run(container, ['exec', '--exec-fd', '0', ...rights, container.id, 'hostname'], {
        stdin: program,
      });
    } finally {
      closeSync(program);
    }
  },
  reopen: async (container) => {
    // The agent handles signals in order: when it has opened and closed its sockets once, no earlier signal is pending.
    await openSockets(run, container);
    try {
      await closeSockets(run, container, OPEN_DEADLINE_MS);
    } finally {
      // A late agent closes them after this has failed: what opens them has to be on its way by then.
      await openSockets(run, container);
    }
  },
});

const openSockets = (run: RunscCommand, container: Container): Promise<void> =>
  tellAgent(run, container, {
    signalName: 'CONT',
    wait: (signal) => waitForEntry(container.folder.guest, 'control.sock', signal),
    deadlineMs: OPEN_DEADLINE_MS,
    late: 'the agent does not open its sockets',
  });

const closeSockets = (run: RunscCommand, container: Container, deadlineMs: number): Promise<void> =>
  tellAgent(run, container, {
    signalName: 'USR2',
    wait: (signal) => waitForNoEntry(container.folder.guest, 'control.sock', signal),
    deadlineMs,
    late: 'the agent does not close its sockets',
  });

/**
 * The first process forwards signals to the agent. Rejects with `unavailable` when the agent has not handled it by the
 * deadline.
 */
const tellAgent = async (
  run: RunscCommand,
  container: Container,
  options: {
    signalName: string;
    wait: (signal: AbortSignal) => Promise<void>;
    deadlineMs: number;
    late: string;
  },
): Promise<void> => {
  const untold = new AbortController();
  const deadline = AbortSignal.timeout(options.deadlineMs);
  const done = options.wait(AbortSignal.any([container.signal, untold.signal, deadline]));
  const told = run(container, ['kill', container.id, options.signalName]).catch((error: unknown) => {
    untold.abort();
    throw error;
  });
  await settleAll([
    told,
    done.catch((error: unknown) => {
      throw new RuntimeError('unavailable', options.late, { cause: error });
    }),
  ]);
};

/** Opened read-only: the sentry of the restore accepts no descriptor that could be written to. */
const openProgram = (bytes: Buffer): number => {
  const file = createMemoryFile('program');
  try {
    writeSync(file, bytes);
    return openSync(`/proc/self/fd/${file}`, 'r');
  } finally {
    closeSync(file);
  }
};
