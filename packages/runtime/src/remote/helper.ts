import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { RuntimeError } from '../error.ts';
import { systemPath } from '../kernel/run-command.ts';
import { createRemote, dialSocket } from './client.ts';

export interface HelperOptions {
  /** Absolute path. Its `run/` must be there and belong to this user alone. */
  dataDir: string;
  /** What `prepareAgentFolder` made. */
  agentDir: string;
  /** The helper's entry: beside this file, unless a bundle put it elsewhere. */
  mainPath?: string | undefined;
  /** Where this host's servers agree on slots, when it is not the usual place. */
  stateDir?: string | undefined;
  /** What `prepareCriu` made; memory is not kept at level `container` without. */
  criuDir?: string | undefined;
  /** What `prepareRunsc` resolved with: sandboxes are of level `gvisor` then, and else of level `container`. */
  runscPath?: string | undefined;
  /** Whether memory is kept at level `gvisor`. */
  keepsMemory?: boolean | undefined;
  /** That sandboxes are only to be found and ended: what starts them is not tried then. */
  startsNone?: boolean | undefined;
  /** Where this process is root of a user's ground. */
  ground?: HelperGround | undefined;
  signal?: AbortSignal | undefined;
}

export interface HelperGround {
  /** Of the process that holds the ground: the helper works in its network namespace. */
  holderPid: number;
  /** Addresses of the host, which are closed to sandboxes. */
  hostAddresses: readonly string[];
}

/**
 * Starts the helper, a process of its own that holds the driver, and resolves with its runtime. When the helper dies,
 * calls under way reject with `unavailable` and the next one starts another, which finds all sandboxes again. `close`
 * ends the helper and waits until it is gone; sandboxes live on. Rejects with `unavailable` when it does not start.
 */
export async function startHelper(options: HelperOptions): Promise<AddressedRuntime> {
  const socketPath = join(options.dataDir, 'run', 'runtime.sock');
  let child: ChildProcess | undefined;

  const dial = async (): Promise<Socket> => {
    // One helper at a time owns the data folder.
    if (child) await end(child);
    child = launch(options, socketPath);
    await untilReady(child);
    return dialSocket(socketPath);
  };

  try {
    return await createRemote({
      dial,
      signal: options.signal,
      onClose: async () => {
        if (child) await end(child);
      },
    });
  } catch (error) {
    if (child) await end(child);
    throw error;
  }
}

function launch(
  {
    dataDir,
    agentDir,
    mainPath,
    stateDir,
    criuDir,
    runscPath,
    keepsMemory,
    startsNone,
    ground,
  }: HelperOptions,
  socketPath: string,
): ChildProcess {
  const main = mainPath ?? fileURLToPath(new URL('./main.ts', import.meta.url));
  const args = [main, '--data', dataDir, '--socket', socketPath, '--agent', agentDir];
  if (stateDir !== undefined) args.push('--state', stateDir);
  if (criuDir !== undefined) args.push('--criu', criuDir);
  if (runscPath !== undefined) args.push('--runsc', runscPath);
  if (keepsMemory) args.push('--keep-memory');
  if (startsNone) args.push('--starts-none');
  if (ground) args.push('--ground', ...ground.hostAddresses.flatMap((address) => ['--closed', address]));
  const [file, ...before] = ground
    ? ['nsenter', `--net=/proc/${ground.holderPid}/ns/net`, process.execPath]
    : [process.execPath];
  const child = spawn(file as string, [...before, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Threads for what waits in the kernel: a link that is being removed must not hold up reading a file.
    env: { PATH: systemPath, UV_THREADPOOL_SIZE: '16' },
    // A session of its own: Ctrl-C in the terminal is for the server, which ends the helper when it is done.
    detached: true,
  });
  // `untilReady` tells why it did not start. An error that nobody hears, also a later one, would end the server.
  child.on('error', () => undefined);
  return child;
}

async function untilReady(child: ChildProcess): Promise<void> {
  const failed = once(child, 'error').then(([error]): never => {
    throw new RuntimeError('unavailable', 'the helper cannot be started', { cause: error });
  });
  // Without a descriptor left, Node does not even make the pipes.
  if (!child.stdout) return failed;
  // A broken pipe to a dead helper is told by its exit.
  child.stdin?.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, 'line').then(() => true);
  const gone = new Promise<false>((resolve) => {
    child.once('exit', () => resolve(false));
  });
  if (!(await Promise.race([ready, gone, failed]))) {
    throw new RuntimeError('unavailable', `the helper exited with ${child.exitCode ?? child.signalCode}`);
  }
}

/** How long a helper may take to undo what it was making. */
const endTimeoutMs = 20_000;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
  await exited;
  clearTimeout(timer);
}
