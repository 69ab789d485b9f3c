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
  /** Absolute path. Its `run/` must exist and be accessible to this user only. */
  dataDir: string;
  /** The folder that `prepareAgentFolder` made. */
  agentDir: string;
  /** The program of the helper. Default: the one beside this file, which serves the runtime only. */
  mainPath?: string | undefined;
  /** The folder in which the servers of this host reserve slots, if it is not the default one. */
  stateDir?: string | undefined;
  /** Default: the OCI driver at level `container`, which keeps no memory. */
  driver?: DriverChoice | undefined;
  /** Whether sandboxes are only listed and ended. Starting them is not tried then. */
  startsNone?: boolean | undefined;
  /** Set when this process is root of a user's rootless namespace. */
  rootless?: HelperRootlessOptions | undefined;
  /**
   * The number of faults within a minute, or of consecutive ones before it is ready, after which the helper
   * is not started again. 0, the default, means no limit.
   */
  faultLimit?: number | undefined;
  /** Called each time the helper has ended by itself, from its first readiness on. */
  onFault?: (fault: HelperFault) => void;
  /** Called with each line that the helper writes to stderr, in which words of a sandbox may be. Default: this process's stderr. */
  onStderrLine?: ((line: string) => void) | undefined;
  /** Environment variables of the helper, beside PATH. */
  environment?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
  /** Kills the helper with SIGKILL and starts no other: all calls reject with `unavailable`. */
  abandon?: AbortSignal | undefined;
}

export interface HelperRootlessOptions {
  /** The id of the process that holds the rootless namespace: the helper works in its network namespace. */
  holderPid: number;
  /** Addresses of the host, which are closed to sandboxes. */
  hostAddresses: readonly string[];
  /** The folder of a cgroup that is delegated to the user, and whose processes this process may move. */
  cgroupFolder?: string;
}

/**
 * Starts the helper, a separate process that holds the driver, and resolves with its runtime. When the helper ends by
 * itself, pending calls reject with `unavailable`, and another helper starts after a delay and finds all sandboxes again;
 * calls during the delay wait. After too many faults, calls reject with `unavailable`. `close` ends the helper and waits
 * for its end; sandboxes continue to run. Rejects with `unavailable` when the helper does not start, and with the error of
 * the driver when that cannot be opened. The signal has no effect after the start.
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
    // Each later call waits for it and reports the error; this marks the rejection as handled.
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
    // A helper that has lost its connection exits with 0 when it gets the signal to end.
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
    onStderrLine,
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
    stdio: ['pipe', 'pipe', onStderrLine === undefined ? 'inherit' : 'pipe'],
    // More threads for calls that wait in the kernel: removing a network link must not delay reading a file.
    env: { ...environment, PATH: systemPath, UV_THREADPOOL_SIZE: '16' },
    // Start it in a session of its own: Ctrl-C in the terminal reaches the server only, which ends the helper
    // at its end.
    detached: true,
  });
  // `untilReady` reports why it did not start. An error without a listener, also a later one, would end the server.
  child.on('error', () => undefined);
  // There is no pipe when no descriptor is left.
  if (onStderrLine !== undefined && child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', onStderrLine);
  return child;
}

async function untilReady(child: ChildProcess): Promise<void> {
  const failed = once(child, 'error').then(([error]): never => {
    throw new RuntimeError('unavailable', 'the helper cannot be started', { cause: error });
  });
  // Node makes no pipes when no descriptor is left.
  if (!child.stdout) return failed;
  // The exit of the helper reports a broken pipe.
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

/** The time in which a helper must undo unfinished work. */
const endTimeoutMs = 20_000;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
  await exited;
  clearTimeout(timer);
}
