import { type SandboxError, toSandboxError } from '../errors.ts';
import type { Agent } from './agent.ts';
import { explainLostStream, keepaliveHeader } from './event-stream.ts';

/** The timeout of one attempt. */
export interface AttemptLimits {
  requestTimeoutMs: number;
  /** The remaining time of the stream. 0 means no limit. */
  timeoutMs: number;
}

export interface ReconnectOptions<T> {
  agent: Agent;
  /** Ends the attempts. Its reason is the error of the stream. */
  signal: AbortSignal;
  /** Why the connection broke: thrown when it cannot be restored. */
  reason: SandboxError;
  /** The deadline of the stream, in milliseconds since the epoch. */
  deadlineMs: number | undefined;
  open(limits: AttemptLimits): Promise<T>;
}

const maxAttempts = 8;
const firstDelayMs = 100;
const maxDelayMs = 2_000;
/** The sandbox keeps the end of a command for 30 seconds only, so an attempt must not take long. */
const attemptTimeoutMs = 5_000;
/** A connection without any message, not even a keepalive, for this time counts as broken. */
const maxSilenceMs = 2.5 * 1000 * Number(keepaliveHeader['Keepalive-Ping-Interval']);

/**
 * Reopens a stream whose connection broke. Gives up after eight attempts in a row, which take nine seconds when no
 * server answers, and at once when the sandbox refuses. Rejects with `reason` then, `timeout` after the deadline and
 * `sandbox_unavailable` when the sandbox has ended.
 */
export async function reconnect<T>(options: ReconnectOptions<T>): Promise<T> {
  const { agent, signal, reason, deadlineMs } = options;
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    await pause(Math.min(firstDelayMs * 2 ** attempt, maxDelayMs), signal);
    signal.throwIfAborted();
    const remainingMs = deadlineMs === undefined ? 0 : deadlineMs - Date.now();
    if (remainingMs < 0) throw toSandboxError('timeout', 'the time is up', { cause: reason });
    try {
      return await options.open({
        requestTimeoutMs: Math.min(agent.requestTimeoutMs || attemptTimeoutMs, attemptTimeoutMs),
        timeoutMs: deadlineMs === undefined ? 0 : Math.max(remainingMs, 1),
      });
    } catch (error) {
      const failure = await explainLostStream(agent, signal, error);
      if (failure.code === 'connection_failed' || failure.code === 'timeout') continue;
      // The caller sees the broken connection for any other error.
      throw failure.code === 'canceled' || failure.code === 'sandbox_unavailable' ? failure : reason;
    }
  }
  throw reason;
}

/** Rejects with `connection_failed` when the next message of a stream is later than a keepalive would be. */
export async function withinSilence<T>(message: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    const error = toSandboxError('connection_failed', `the stream was silent for ${maxSilenceMs} ms`);
    timer = setTimeout(() => reject(error), maxSilenceMs);
  });
  try {
    return await Promise.race([message, silence]);
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
