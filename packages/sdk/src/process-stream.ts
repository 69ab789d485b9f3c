import type { ProcessEvent_DataEvent, ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import type { Agent } from './agent.ts';
import { type SandboxError, toSandboxError } from './errors.ts';
import { explainLostStream, keepaliveHeader } from './event-stream.ts';
import { attachProcess, type OpenedProcess } from './open-process.ts';
import { type LostOutput, OutputLostError } from './output-lost-error.ts';

export interface ProcessStreamOptions {
  agent: Agent;
  user: string | undefined;
  /** The first connection. */
  opened: OpenedProcess;
  /** Where it begins, in bytes of output. Undefined when nobody knows: then nothing is resumed. */
  offset: number | undefined;
  /** Ends everything. Its reason is what the stream then fails with. */
  signal: AbortSignal;
  /** When that happens anyway, in milliseconds since the epoch. */
  deadlineMs: number | undefined;
  /** Told of output that is lost. Without it the stream fails with `OutputLostError`. */
  onOutputLost: ((lost: LostOutput) => void) | undefined;
}

export interface ProcessStream extends AsyncIterable<ProcessEvent_DataEvent> {
  /** Bytes of output before the next event. Undefined when nobody knows. */
  readonly offset: number | undefined;
  /** How the process ended. Undefined until the iteration is over. */
  readonly end: ProcessEvent_EndEvent | undefined;
}

const maxAttempts = 8;
const firstDelayMs = 100;
const maxDelayMs = 2_000;
/** The sandbox keeps the end of a command for 30 seconds only, so an attempt must not take long. */
const attemptTimeoutMs = 5_000;
/** A connection on which nothing comes for so long, not even a keepalive, is taken for broken. */
const maxSilenceMs = 2.5 * 1000 * Number(keepaliveHeader['Keepalive-Ping-Interval']);

/**
 * The output of one process, over as many connections as it takes. When one breaks while the sandbox lives, it attaches again
 * where it stood: no byte comes twice, and none is left out without a word. It gives up after eight attempts in a row, which
 * take nine seconds where nothing answers, and at once when the server does not know offsets. Fails with a `SandboxError`.
 */
export function followProcess(options: ProcessStreamOptions): ProcessStream {
  const { agent, user, opened, signal, deadlineMs, onOutputLost } = options;
  const { pid } = opened;
  let { offset } = options;
  let end: ProcessEvent_EndEvent | undefined;

  async function* readOne({ events }: OpenedProcess): AsyncGenerator<ProcessEvent_DataEvent> {
    const iterator = events.rest[Symbol.asyncIterator]();
    for (;;) {
      const next = await withinSilence(iterator.next());
      if (next.done) throw new Error('the stream ended before the command');
      const event = next.value.event?.event;
      if (event?.case === 'end') {
        end = event.value;
        return;
      }
      // Keepalives, and what later versions add.
      if (event?.case !== 'data') continue;
      if (offset !== undefined) offset += event.value.output.value?.length ?? 0;
      yield event.value;
    }
  }

  /** One attempt. Undefined when no connection came about and another attempt makes sense. */
  async function attach(from: number, reason: SandboxError): Promise<OpenedProcess | undefined> {
    const remainingMs = deadlineMs === undefined ? 0 : deadlineMs - Date.now();
    if (remainingMs < 0) throw toSandboxError('timeout', 'the time is up', { cause: reason });
    try {
      return await attachProcess(agent, {
        pid,
        offset: BigInt(from),
        user,
        signal,
        timeoutMs: deadlineMs === undefined ? 0 : Math.max(remainingMs, 1),
        requestTimeoutMs: Math.min(agent.requestTimeoutMs || attemptTimeoutMs, attemptTimeoutMs),
      });
    } catch (error) {
      const failure = await explainLostStream(agent, signal, error);
      if (failure.code === 'connection_failed' || failure.code === 'timeout') return undefined;
      // Whatever else is wrong with attaching, what happened to the caller is that the connection broke.
      throw failure.code === 'canceled' || failure.code === 'sandbox_unavailable' ? failure : reason;
    }
  }

  async function reopen(error: unknown): Promise<OpenedProcess> {
    const reason = await explainLostStream(agent, signal, error);
    if (reason.code !== 'connection_failed' || offset === undefined) throw reason;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      await pause(Math.min(firstDelayMs * 2 ** attempt, maxDelayMs), signal);
      signal.throwIfAborted();
      const again = await attach(offset, reason);
      if (again === undefined) continue;
      if (again.offset === offset) return again;
      // Without an offset the server does not know them, and a smaller one is that of another process with this pid.
      const lostBytes = (again.offset ?? 0) - offset;
      if (lostBytes > 0 && onOutputLost !== undefined) {
        onOutputLost({ offset, lostBytes });
        offset += lostBytes;
        return again;
      }
      again.events.stream.abort();
      throw lostBytes > 0 ? new OutputLostError({ offset, lostBytes }) : reason;
    }
    throw reason;
  }

  async function* readAll(): AsyncGenerator<ProcessEvent_DataEvent> {
    for (let current = opened; ; ) {
      let broken: unknown;
      try {
        yield* readOne(current);
        return;
      } catch (error) {
        broken = error;
      } finally {
        current.events.stream.abort();
      }
      current = await reopen(broken);
    }
  }

  return {
    get offset() {
      return offset;
    },
    get end() {
      return end;
    },
    [Symbol.asyncIterator]: readAll,
  };
}

/** Rejects with `connection_failed` when the promise does not settle in time. */
async function withinSilence<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    const error = toSandboxError('connection_failed', `the stream was silent for ${maxSilenceMs} ms`);
    timer = setTimeout(() => reject(error), maxSilenceMs);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, or until the signal aborts. */
function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
