import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { RuntimeError } from '../../../error.ts';
import { makeFifo } from '../../../kernel/syscalls.ts';

/** Makes CRIU wait at one of its steps until some work is done. */
export interface CriuHook {
  /** The action script for CRIU. */
  readonly script: string;
  /** What the work rejected with. */
  readonly failure: unknown;
  /** Call it when CRIU has ended. Resolves when the work has ended, too. */
  close(): Promise<void>;
}

/**
 * - `post-dump`: everything is written, and the processes are still held.
 * - `setup-namespaces`: the first process of a restore is in its namespaces, and nothing else exists yet.
 */
export type CriuStep = 'post-dump' | 'setup-namespaces';

/** How long CRIU waits before it fails. */
export const HOOK_DEADLINE_MS = 60_000;

// criu(8), --action-script. It inherits no descriptors of this process, and finds its pipes by its own path. No open
// waits, and reading ends when this process has ended: then CRIU fails, and processes held by a dump continue.
const toScript = (step: CriuStep): string => `#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = ${step} ] || exit 0
exec 3<> "$0.done" 4< "$0.done" 3>&-
echo "$CRTOOLS_INIT_PID" 1<> "$0.reached" && read -r answer <&4 && [ "$answer" = ok ]
`;

/**
 * `work` is called once, at that step, with the pid of the first process as CRIU reports it. When it rejects, CRIU
 * fails. The hook's files are in `folder` until it is closed.
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
  // Write on this thread: a program that this one starts meanwhile would inherit the descriptor, and until it
  // has closed that the script cannot be executed (ETXTBSY). The kernel lets this thread continue a moment
  // earlier (fs/exec.c, begin_new_exec: exec_mmap comes before do_close_on_exec).
  writeFileSync(path, toScript(options.step), { mode: 0o700 });
  // Open both directions: opening one end does not wait for the other then.
  const [reached = -1, done = -1] = pipes.map((pipe) => {
    makeFifo(pipe);
    return openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  });
  let failure: unknown;
  let isClosed = false;
  const answer = (text: string): void => {
    // CRIU may have been killed meanwhile.
    if (!isClosed) writeSync(done, `${text}\n`);
  };
  const serve = async (pid: number): Promise<void> => {
    const deadline = setTimeout(() => {
      failure = new RuntimeError(
        'unavailable',
        `the work for CRIU did not end within ${HOOK_DEADLINE_MS} ms`,
      );
      answer('failed');
    }, HOOK_DEADLINE_MS);
    try {
      await options.work(pid);
    } catch (error) {
      failure ??= error;
    } finally {
      clearTimeout(deadline);
    }
    // CRIU accepts no second answer.
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
      // A clean-up by the caller must not race with the work.
      await served;
      closeSync(done);
      await removeFiles();
    },
  };
};
