import { sleep } from './sleep.ts';

interface RetryingFetchOptions {
  fetch: typeof globalThis.fetch | undefined;
  requestTimeoutMs: number;
}

const maxRetries = 3;
/** `setTimeout` takes no longer time, 24.8 days, and would return at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * Repeats a request up to three times when the response is 429 with a `Retry-After` in whole seconds that fits into the
 * request timeout. A 429 without that header means that waiting does not help, and is returned.
 */
export function createRetryingFetch({ fetch, requestTimeoutMs }: RetryingFetchOptions) {
  const send = fetch ?? ((request: Request) => globalThis.fetch(request));
  return async (request: Request): Promise<Response> => {
    for (let attempt = 0; ; attempt += 1) {
      const response = await send(attempt < maxRetries ? request.clone() : request);
      const delayMs =
        response.status === 429 ? parseRetryAfter(response.headers.get('retry-after')) : undefined;
      const limitMs = requestTimeoutMs === 0 ? maxDelayMs : Math.min(requestTimeoutMs, maxDelayMs);
      const fits = delayMs !== undefined && delayMs <= limitMs;
      if (!fits || attempt === maxRetries) return response;
      await response.body?.cancel();
      await sleep(delayMs, request.signal);
    }
  };
}

function parseRetryAfter(value: string | null): number | undefined {
  return value !== null && /^\d+$/.test(value) ? Number(value) * 1000 : undefined;
}
