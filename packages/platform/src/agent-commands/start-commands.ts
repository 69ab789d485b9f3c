import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, passTime } from '../clock.ts';
import type { StartCommands } from '../store/build-rows.ts';
import { waitForListening } from './listening-ports.ts';
import { RefusedCommandError, type SandboxRunner, UnknownUserError } from './run-in-sandbox.ts';

/** A start command has failed, or is not ready in time. The message is for the owner of the template. */
export class StartFailedError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StartFailedError';
  }
}

const RETRY_MS = 2_000;
const UNCHECKED_WAIT_MS = 20_000;
const MAX_READY_MS = 10 * 60_000;

/** The start command has ended with status 0, and `mayEnd` is not set. */
export class StartEndedError extends Error {}

export interface StartOptions {
  /** Whether a start command that ends with 0 is ready when the check says so, as one that leaves its work to a daemon. */
  mayEnd?: boolean;
  runner: SandboxRunner;
  clock: Pick<Clock, 'after' | 'elapsed'>;
  onLine: (line: string) => void;
  /** Lines of the check, which fails until the command is ready. */
  onCheckLine: (line: string) => void;
  /** Called when it counts as ready although nothing listens on these of its ports. */
  onClosedPorts?: (ports: readonly number[]) => void;
  signal: AbortSignal;
  /** How long it may take to be ready, and so how long a run of the check may take. Default: ten minutes. */
  readyMs?: number;
}

/** What the check has done so far. */
interface CheckState {
  /** When the run in progress began, in milliseconds of the monotonic clock; undefined between two. */
  runsSinceMs?: number | undefined;
  /** The exit status of the last run that has ended. */
  lastStatus?: number;
}

/**
 * Starts the command and resolves when it is ready: it runs on, and no connection to it is open. It is ready when
 * `readyCmd` has succeeded, which is repeated every 2 s; without that when something listens on each of `exposedPorts`, and after 20 s in
 * any case. Rejects with `StartFailedError` when
 * it exits before that with a status other than 0 or is not ready in time, and says what the check did then. Otherwise rejects with the
 * reason of `signal`, or what the connection to the sandbox fails with.
 */
export const startAndWait = async (commands: StartCommands, options: StartOptions): Promise<void> => {
  const { readyMs = MAX_READY_MS } = options;
  const late = AbortSignal.timeout(readyMs);
  const settled = new AbortController();
  const signal = AbortSignal.any([options.signal, late, settled.signal]);
  const check: CheckState = {};
  const command = commands.startCmd === null ? undefined : runStart(commands, { ...options, signal });
  try {
    await command?.started;
    await Promise.race([
      waitUntilReady(commands, { ...options, check, signal }),
      ...(command ? [command.failed] : []),
    ]);
  } catch (error) {
    options.signal.throwIfAborted();
    if (late.aborted)
      throw new StartFailedError(
        `the start command is not ready after ${readyMs / 60_000} minutes${describeCheck(commands, check)}`,
        { cause: error },
      );
    throw error;
  } finally {
    settled.abort(new Error('the wait for the start command is over'));
    // Wait until the connection is closed: an open one makes a capture of the sandbox with memory fail.
    await command?.closed;
  }
};

interface RunningStart {
  /** Resolves when it runs. Rejects as `failed` does. */
  started: Promise<void>;
  /** Never resolves. */
  failed: Promise<never>;
  /** Resolves when the connection to it is closed. */
  closed: Promise<unknown>;
}

const runStart = (
  commands: StartCommands,
  { runner, onLine, mayEnd = true, signal }: StartOptions,
): RunningStart => {
  const text = commands.startCmd ?? '';
  const { promise: begun, resolve: onStart } = Promise.withResolvers<void>();
  const command = { ...toCommand(commands, text, commands.startWords), logsOutput: true };
  const ended = runner.run(command, { onLine, onStart, signal });
  const failed = ended.then(
    (status) => {
      if (status !== 0)
        throw new StartFailedError(`failed to run start command '${text}': exit status ${status}`);
      if (!mayEnd) throw new StartEndedError('the start command has ended');
      // Never settle: a command that may end with 0 has left a daemon running, so nothing has failed.
      return new Promise<never>(() => undefined);
    },
    (error: unknown) => {
      throw toStartFailure(`failed to run start command '${text}'`, error);
    },
  );
  // The caller awaits the rejection in races: until then this marks it as handled.
  failed.catch(() => undefined);
  return { started: Promise.race([begun, failed]), failed, closed: Promise.allSettled([ended]) };
};

const waitUntilReady = async (
  commands: StartCommands,
  options: StartOptions & { check: CheckState },
): Promise<void> => {
  const { startCmd, readyCmd } = commands;
  const { runner, onCheckLine, check, signal } = options;
  if (readyCmd === null) {
    if (startCmd !== null) await waitWithoutCheck(commands, options);
    return;
  }
  for (;;) {
    check.runsSinceMs = performance.now();
    // No limit of its own: a slow check that works would fail by it.
    const status = await runner
      .run(toCommand(commands, readyCmd, commands.readyWords), { onLine: onCheckLine, signal })
      .catch((error: unknown) => {
        throw toStartFailure(`failed to run ready command '${readyCmd}'`, error);
      });
    if (status === 0) return;
    [check.runsSinceMs, check.lastStatus] = [undefined, status];
    await sleep(RETRY_MS, undefined, { signal });
  }
};

const waitWithoutCheck = async (
  { exposedPorts = [] }: StartCommands,
  { runner, clock, onClosedPorts, signal }: StartOptions,
): Promise<void> => {
  if (exposedPorts.length === 0) {
    await passTime(clock, UNCHECKED_WAIT_MS, signal);
    signal.throwIfAborted();
    return;
  }
  const closed = await waitForListening(exposedPorts, { runner, clock, withinMs: UNCHECKED_WAIT_MS, signal });
  if (closed.length > 0) onClosedPorts?.(closed);
};

const describeCheck = ({ readyCmd }: StartCommands, { runsSinceMs, lastStatus }: CheckState): string => {
  if (runsSinceMs !== undefined) {
    const seconds = Math.round((performance.now() - runsSinceMs) / 1000);
    return `: ready command '${readyCmd}' has not ended in ${seconds} s`;
  }
  return lastStatus === undefined ? '' : `: ready command '${readyCmd}' ended with exit status ${lastStatus}`;
};

const toCommand = (
  { user, workdir, env }: StartCommands,
  text: string,
  [file = '/bin/bash', ...args]: readonly string[] = ['/bin/bash', '-l', '-c', text],
) => ({ file, args, user, cwd: workdir, env });

/** A user or a folder that does not exist is the fault of the template. */
const toStartFailure = (what: string, error: unknown): unknown =>
  error instanceof RefusedCommandError || error instanceof UnknownUserError
    ? new StartFailedError(`${what}: ${error.message}`, { cause: error })
    : error;
