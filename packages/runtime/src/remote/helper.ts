import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type DriverChoice, defaultDriver } from '../drivers/index.ts';
import { RuntimeError, RuntimeLostError } from '../error.ts';
import { systemPath } from '../kernel/find-program.ts';
import { createRemote, dialSocket, type RemoteRuntime } from './client.ts';
import { createFaultCount, type HelperFault } from './helper-faults.ts';
import { parseReadiness } from './readiness.ts';

export interface HelperOptions {
  /** Absolute path. Its `run/` must be there and belong to this user alone. */
  dataDir: string;
  /** What `prepareAgentFolder` made. */
  agentDir: string;
  /** The helper's entry. Default: the one beside this file, which serves the runtime alone. */
  mainPath?: string | undefined;
  /** Where this host's servers agree on slots, when it is not the usual place. */
  stateDir?: string | undefined;
  /** Default: the OCI driver at level `container`, which keeps no memory. */
  driver?: DriverChoice | undefined;
  /** That sandboxes are only to be found and ended: what starts them is not tried then. */
  startsNone?: boolean | undefined;
  /** Where this process is root of a user's rootless namespace. */
  rootless?: HelperRootlessOptions | undefined;
  /**
   * How many times the helper may die within a minute, or in a row before it is ready; after the last it is not started again.
   * 0, the default: any number.
   */
  faultLimit?: number | undefined;
  /** Called each time it has died by itself, once it was up. */
  onFault?: (fault: HelperFault) => void;
  /** Variables of its environment beside PATH. */
  environment?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
  /** Ends the helper at once by SIGKILL, whatever it does, and starts none again: all calls reject with `unavailable`. */
  abandon?: AbortSignal | undefined;
}

export interface HelperRootlessOptions {
  /** Of the process that holds the rootless namespace: the helper works in its network namespace. */
  holderPid: number;
  /** Addresses of the host, which are closed to sandboxes. */
  hostAddresses: readonly string[];
  /** The folder of a cgroup that is the user's, and whose processes this one may move. */
  cgroupFolder?: string;
}

/**
 * Starts the helper, a process of its own that holds the driver, and resolves with its runtime. When the helper dies,
 * calls under way reject with `unavailable` and another one is started after a moment, which finds all sandboxes again; calls in
 * that moment wait for it. After too many deaths calls reject with `unavailable`. `close` ends the helper and waits until it is
 * gone; sandboxes live on. Rejects with `unavailable` when it does not start, and with the driver's own error when that cannot be
 * opened. The signal counts until it has started.
 */
export async function startHelper(options: HelperOptions): Promise<RemoteRuntime> {
  const socketPath = join(options.dataDir, 'run', 'runtime.sock');
  const { abandon, onFault, faultLimit: limit = 0 } = options;
  const faults = createFaultCount({ limit });
  let child: ChildProcess | undefined;
  let isUp = false;
  let isClosing = false;
  let restart: Promise<unknown> | undefined;

  const endChild = async (): Promise<void> => {
    if (child) await end(child);
  };

  const noteFault = (how: string, wasReady: boolean): void => {
    if (!isUp || isClosing || abandon?.aborted) return;
    const fault = faults.add(how, { wasReady });
    const { restartInMs } = fault;
    restart =
      restartInMs === undefined
        ? Promise.reject(new RuntimeLostError(`the helper died ${fault.count} times, the last one: ${how}`))
        : sleep(restartInMs);
    // Those who call are told.
    restart.catch(() => undefined);
    onFault?.(fault);
  };

  const dial = async (): Promise<Socket> => {
    // One helper at a time owns the data folder.
    await endChild();
    await restart;
    abandon?.throwIfAborted();
    const launched = launch(options, socketPath);
    child = launched;
    // One that lost its connection and is told to end does so with 0.
    let isReady = false;
    launched.once('exit', (code, signal) => code !== 0 && noteFault(signal ?? `status ${code}`, isReady));
    launched.once('error', (error) => noteFault(error.message, false));
    await untilReady(launched);
    isReady = true;
    return dialSocket(socketPath);
  };

  abandon?.addEventListener('abort', () => child?.kill('SIGKILL'), { once: true });
  const stopStart = (): void => void child?.stdin?.end();
  options.signal?.addEventListener('abort', stopStart, { once: true });
  try {
    const runtime = await createRemote({
      dial,
      signal: options.signal,
      staysConnected: true,
      onClose: () => {
        isClosing = true;
        return endChild();
      },
    });
    isUp = true;
    return runtime;
  } catch (error) {
    await endChild();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', stopStart);
  }
}

function launch(
  {
    dataDir,
    agentDir,
    mainPath,
    stateDir,
    driver = defaultDriver,
    startsNone,
    rootless,
    environment,
  }: HelperOptions,
  socketPath: string,
): ChildProcess {
  const main = mainPath ?? fileURLToPath(new URL('./main.ts', import.meta.url));
  const args = [main, '--data', dataDir, '--socket', socketPath, '--agent', agentDir];
  args.push('--driver', JSON.stringify(driver));
  if (stateDir !== undefined) args.push('--state', stateDir);
  if (startsNone) args.push('--starts-none');
  if (rootless)
    args.push('--rootless', ...rootless.hostAddresses.flatMap((address) => ['--closed', address]));
  if (rootless?.cgroupFolder !== undefined) args.push('--cgroup', rootless.cgroupFolder);
  const [file, ...before] = rootless
    ? ['nsenter', `--net=/proc/${rootless.holderPid}/ns/net`, process.execPath]
    : [process.execPath];
  const child = spawn(file as string, [...before, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Threads for what waits in the kernel: a link that is being removed must not hold up reading a file.
    env: { ...environment, PATH: systemPath, UV_THREADPOOL_SIZE: '16' },
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
  const first = once(lines, 'line').then(([line]) => line as string);
  const gone = new Promise<undefined>((resolve) => {
    child.once('exit', () => resolve(undefined));
  });
  const line = await Promise.race([first, gone, failed]);
  if (line === undefined)
    throw new RuntimeError('unavailable', `the helper exited with ${child.exitCode ?? child.signalCode}`);
  const failure = parseReadiness(line);
  if (failure) throw failure;
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
