import { sleep } from './sleep.ts';

interface RetryingFetchOptions {
  fetch: typeof globalThis.fetch | undefined;
  requestTimeoutMs: number;
  maxRetryWaitMs: number;
}

const maxRetries = 3;
/** `setTimeout` takes no longer time, 24.8 days, and would return at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * Repeats a request up to three times: at once when the response is 408, by which a server closes a connection on which it has not
 * received the whole head of a request in time (RFC 9110, 15.5.9), as after either side stood still; and when it is 429 with a
 * `Retry-After` in whole seconds, and all waits together are at most `maxRetryWaitMs` and shorter than the request timeout: a caller
 * learns of a limit by its 429 and not by a timeout.
 */
export function createRetryingFetch({ fetch, requestTimeoutMs, maxRetryWaitMs }: RetryingFetchOptions) {
  const send = fetch ?? ((request: Request) => globalThis.fetch(request));
  return async (request: Request): Promise<Response> => {
    const limitMs = requestTimeoutMs === 0 ? maxDelayMs : Math.min(requestTimeoutMs, maxDelayMs);
    let waitedMs = 0;
    for (let attempt = 0; ; attempt += 1) {
      const response = await send(attempt < maxRetries ? request.clone() : request);
      const delayMs = toDelayMs(response);
      const fits =
        delayMs !== undefined && waitedMs + delayMs <= maxRetryWaitMs && waitedMs + delayMs < limitMs;
      if (!fits || attempt === maxRetries) return response;
      waitedMs += delayMs;
      await response.body?.cancel();
      await sleep(delayMs, request.signal);
    }
  };
}

function toDelayMs({ status, headers }: Response): number | undefined {
  if (status === 408) return 0;
  return status === 429 ? parseRetryAfter(headers.get('retry-after')) : undefined;
}

/** Returns the milliseconds of a `Retry-After` in whole seconds, and undefined for any other. */
export function parseRetryAfter(value: string | null): number | undefined {
  return value !== null && /^\d+$/.test(value) ? Number(value) * 1000 : undefined;
}
