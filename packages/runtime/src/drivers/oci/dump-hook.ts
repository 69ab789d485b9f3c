import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { makeFifo } from './syscalls.ts';

/** Lets a CRIU that dumps wait, when all is written and before it lets the processes go, until something is done. */
export interface DumpHook {
  /** The program that it is to call at its steps. */
  readonly script: string;
  /** What the work rejected with. */
  readonly failure: unknown;
  close(): Promise<void>;
}

/** How long it lets the dump wait; the dump fails then. */
export const HOOK_DEADLINE_MS = 60_000;

// criu(8), --action-script. It has no descriptors of ours, and names its pipes by where it lies itself. The first opening
// waits for nobody; the second ends when this process has: then the dump fails, and what was held runs on.
const script = `#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = post-dump ] || exit 0
echo dumped 1<> "$0.dumped" && [ "$(timeout ${HOOK_DEADLINE_MS / 1000} head -n 1 "$0.done")" = ok ]
`;

/** `work` is called once, when all is written. When it rejects, the dump fails. */
export const createDumpHook = async (folder: string, work: () => Promise<void>): Promise<DumpHook> => {
  const path = `${folder}/hook`;
  const pipes = ['dumped', 'done'].map((name) => `${path}.${name}`);
  await writeFile(path, script, { mode: 0o700 });
  // For both directions: opening one end does not wait for the other.
  const [dumped = -1, done = -1] = pipes.map((pipe) => {
    makeFifo(pipe);
    return openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  });
  let failure: unknown;
  let isClosed = false;
  const serve = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failure = error;
    }
    // It may have been killed meanwhile.
    if (!isClosed) writeSync(done, failure === undefined ? 'ok\n' : 'failed\n');
  };
  const reader = new Socket({ fd: dumped, readable: true, writable: false });
  reader.once('data', () => void serve());
  return {
    script: path,
    get failure() {
      return failure;
    },
    close: async () => {
      isClosed = true;
      reader.destroy();
      closeSync(done);
      await Promise.all([path, ...pipes].map((name) => rm(name, { force: true })));
    },
  };
};
