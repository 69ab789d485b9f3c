import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { RuntimeError } from '../../../error.ts';
import { makeFifo } from '../../../kernel/syscalls.ts';

/** Lets CRIU wait at one of its steps until something is done. */
export interface CriuHook {
  /** The program that it is to call at its steps. */
  readonly script: string;
  /** What the work rejected with. */
  readonly failure: unknown;
  /** To be called when CRIU has ended. Resolves when the work, too, has. */
  close(): Promise<void>;
}

/**
 * - `post-dump`: all is written, and the processes were not let go yet.
 * - `setup-namespaces`: the first process of a restore is in its namespaces, and has nothing yet.
 */
export type CriuStep = 'post-dump' | 'setup-namespaces';

/** How long CRIU waits; it fails then. */
export const HOOK_DEADLINE_MS = 60_000;

// criu(8), --action-script. It has no descriptors of ours, and names its pipes by where it lies itself. No opening
// waits for anybody, and reading ends when this process has: then CRIU fails, and what a dump held runs on.
const toScript = (step: CriuStep): string => `#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = ${step} ] || exit 0
exec 3<> "$0.done" 4< "$0.done" 3>&-
echo "$CRTOOLS_INIT_PID" 1<> "$0.reached" && read -r answer <&4 && [ "$answer" = ok ]
`;

/**
 * `work` is called once, at that step, with the pid of the first process as CRIU says it. When it rejects, CRIU fails.
 * The hook's files are in `folder` until it is closed.
 */
export const createCriuHook = async (options: {
  folder: string;
  step: CriuStep;
  work: (pid: number) => Promise<void>;
}): Promise<CriuHook> => {
  const path = `${options.folder}/hook`;
  const pipes = ['reached', 'done'].map((name) => `${path}.${name}`);
  const removeFiles = () => Promise.all([path, ...pipes].map((name) => rm(name, { force: true })));
  // A process that was killed has left its own.
  await removeFiles();
  await writeFile(path, toScript(options.step), { mode: 0o700 });
  // For both directions: opening one end does not wait for the other.
  const [reached = -1, done = -1] = pipes.map((pipe) => {
    makeFifo(pipe);
    return openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  });
  let failure: unknown;
  let isClosed = false;
  const answer = (text: string): void => {
    // It may have been killed meanwhile.
    if (!isClosed) writeSync(done, `${text}\n`);
  };
  const serve = async (pid: number): Promise<void> => {
    const deadline = setTimeout(() => {
      failure = new RuntimeError('unavailable', `the work for CRIU takes longer than ${HOOK_DEADLINE_MS} ms`);
      answer('failed');
    }, HOOK_DEADLINE_MS);
    try {
      await options.work(pid);
    } catch (error) {
      failure ??= error;
    } finally {
      clearTimeout(deadline);
    }
    // It takes no second answer.
    answer(failure === undefined ? 'ok' : 'failed');
  };
  let served: Promise<void> | undefined;
  const reader = new Socket({ fd: reached, readable: true, writable: false });
  reader.once('data', (line) => {
    served = serve(Number(String(line)));
  });
  return {
    script: path,
    get failure() {
      return failure;
    },
    close: async () => {
      isClosed = true;
      reader.destroy();
      // Whoever undoes what was made comes after it.
      await served;
      closeSync(done);
      await removeFiles();
    },
  };
};
