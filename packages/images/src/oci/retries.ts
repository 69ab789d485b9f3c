import { setTimeout as sleep } from 'node:timers/promises';
import { ImageError } from '../image-error.ts';
import { toRefusalCode } from './ask.ts';
import { readRetryAfterMs } from './retry-after.ts';

/** The registry refuses for now. */
class BusyRegistryError extends ImageError {
  /** How long it asks to wait; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs: number | undefined) {
    super('registry_unavailable', message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The error of an answer whose status is a failure: temporary for 429 and 5xx. */
export function toRefusal(response: Response, message: string): ImageError {
  const code = toRefusalCode(response.status);
  if (code !== 'registry_unavailable') return new ImageError(code, message);
  return new BusyRegistryError(message, readRetryAfterMs(response, Date.now()));
}

export interface RetryOptions {
  signal: AbortSignal | undefined;
  /** The wait after the first failure, which doubles with each further one. Default 500 ms. */
  firstWaitMs?: number | undefined;
  /** What all waits may take together. Default 2 minutes. */
  totalWaitMs?: number | undefined;
}

export interface Retries {
  /**
   * Waits before the next attempt, at least as long as the registry asks, when `error` is temporary and was that failure in a row,
   * from 1. Rejects otherwise: with `error`, with `registry_unavailable` and the number of attempts, or with the
   * reason of the signal.
   */
  waitAfter(error: unknown, failures: number): Promise<void>;
  /** Resolves with the result of the first attempt that succeeds. Rejects as `waitAfter`. */
  repeat<T>(attempt: () => Promise<T>): Promise<T>;
}

const MAX_ATTEMPTS = 4;
const toSeconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

/** Repeats the requests of one pull, which share the time for waits. */
export function createRetries(options: RetryOptions): Retries {
  const { signal, firstWaitMs = 500, totalWaitMs = 120_000 } = options;
  let leftMs = totalWaitMs;

  const waitAfter = async (error: unknown, failures: number): Promise<void> => {
    if (!(error instanceof ImageError) || error.code !== 'registry_unavailable') throw error;
    const { message } = error;
    const giveUp = (why: string): ImageError =>
      new ImageError('registry_unavailable', `${message}; ${why}`, { cause: error });
    if (failures >= MAX_ATTEMPTS) throw giveUp(`given up after ${failures} attempts`);
    const askedMs = error instanceof BusyRegistryError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(askedMs, firstWaitMs * 2 ** (failures - 1));
    if (waitMs > leftMs)
      throw giveUp(
        `the next attempt is due in ${toSeconds(waitMs)}, and a pull waits at most ${toSeconds(totalWaitMs)} in all`,
      );
    leftMs -= waitMs;
    await sleep(waitMs, undefined, signal ? { signal } : {}).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw cause;
    });
  };

  return {
    waitAfter,
    repeat: async (attempt) => {
      for (let failures = 1; ; failures += 1) {
        try {
          return await attempt();
        } catch (error) {
          await waitAfter(error, failures);
        }
      }
    },
  };
}
