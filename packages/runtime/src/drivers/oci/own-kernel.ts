import { readdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../error.ts';
import type { Container, OwnKernel } from './oci-runtime.ts';
import { waitForEntry, waitForNoEntry } from './ready.ts';
import { settleAll } from './settle-all.ts';

/** Runs one command of runsc about a container to its end. Rejects with `internal`, and with what it said. */
export type RunscCommand = (
  container: Container,
  words: readonly string[],
  options?: { stdin?: number; passes?: readonly string[]; cover?: () => void },
) => Promise<void>;

const CLOSE_DEADLINE_MS = 2_000;
/** How often a connection that is being closed may be in the way, and how long it is waited for then. */
const TRIES = 5;
const TRY_AFTER_MS = 50;

export const createOwnKernel = (run: RunscCommand): OwnKernel => ({
  hold: async (container) => {
    const { id } = container;
    await closeSockets(run, container);
    // In the images everything is stopped, so that nothing runs before its time when they are gone on with. Twice, for what a
    // process has just started meanwhile.
    for (const _ of [1, 2]) await run(container, ['kill', '--all', id, 'STOP']);
    await run(container, ['pause', id]);
  },
  write: async (container) => {
    const { id, imagesDir } = container;
    for (let tries = 1; ; tries++) {
      try {
        await run(container, ['checkpoint', '--leave-running', '--image-path', imagesDir, id]);
        return;
      } catch (error) {
        if (tries === TRIES) throw error;
        // It writes no image that is there.
        for (const name of await readdir(imagesDir)) await rm(`${imagesDir}/${name}`);
        await sleep(TRY_AFTER_MS, undefined, { signal: container.signal });
      }
    }
  },
  release: async (container) => {
    const { id } = container;
    // Refused when it was not paused, or not yet.
    await run(container, ['resume', id]).catch(() => undefined);
    await run(container, ['kill', '--all', id, 'CONT']);
  },
  reopen: async (container) => {
    await closeSockets(run, container);
    await run(container, ['kill', container.id, 'CONT']);
    await waitForEntry(container.folder.guest, 'control.sock', container.signal);
  },
});

/** The first process hands signals on to the agent. */
const closeSockets = async (run: RunscCommand, container: Container): Promise<void> => {
  const { id, folder, signal } = container;
  const late = AbortSignal.any([signal, AbortSignal.timeout(CLOSE_DEADLINE_MS)]);
  const closed = waitForNoEntry(folder.guest, 'control.sock', late).catch((error: unknown) => {
    throw new RuntimeError('unavailable', 'the agent does not close its sockets', { cause: error });
  });
  await settleAll([closed, run(container, ['kill', id, 'USR2'])]);
};
