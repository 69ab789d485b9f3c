import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createRetryingFetch } from './retrying-fetch.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * Sends through a fetch of its own that answers at once: with 429 and these values of `Retry-After`, or with 408 for `late`, then with
 * 200.
 */
const send = (
  values: (string | null)[],
  {
    requestTimeoutMs = 60_000,
    maxRetryWaitMs = Infinity,
    onResponse = (): void => {},
    signal = new AbortController().signal,
  } = {},
) => {
  const startMs = Date.now();
  const sent: { at: number; request: Request }[] = [];
  let cancelled = 0;
  const toBody = () =>
    new ReadableStream({
      cancel: () => {
        cancelled += 1;
      },
    });
  const fetch = async (request: unknown): Promise<Response> => {
    const value = values[sent.length];
    sent.push({ at: Date.now() - startMs, request: request as Request });
    onResponse();
    if (value === undefined) return new Response('done');
    if (value === 'late') return new Response(toBody(), { status: 408 });
    return new Response(toBody(), { status: 429, headers: value === null ? {} : { 'retry-after': value } });
  };
  const request = new Request('http://platform.test/', { method: 'POST', body: 'payload', signal });
  const result = createRetryingFetch({ fetch, requestTimeoutMs, maxRetryWaitMs })(request);
  const outcome = result.then(
    ({ status }) => status,
    (error: unknown) => error,
  );
  const times = (): number[] => sent.map(({ at }) => at);
  return { outcome, sent, times, request, cancelled: () => cancelled };
};

it('waits as many seconds as the server says, each time', async () => {
  const { outcome, times, cancelled } = send(['2', '3', '10']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toBe(200);
  expect(times()).toEqual([0, 2_000, 5_000, 15_000]);
  // Otherwise each would keep a connection.
  expect(cancelled()).toBe(3);
});

it('waits for less than the request timeout in all, so that the last 429 is seen', async () => {
  const [fits, tooLong, together] = [
    send(['3'], { requestTimeoutMs: 3_001 }),
    send(['4'], { requestTimeoutMs: 4_000 }),
    send(['30', '30'], { requestTimeoutMs: 60_000 }),
  ];
  await vi.advanceTimersByTimeAsync(100_000);
  expect([await fits.outcome, fits.times()]).toEqual([200, [0, 3_000]]);
  expect([await tooLong.outcome, tooLong.times(), tooLong.cancelled()]).toEqual([429, [0], 0]);
  expect([await together.outcome, together.times()]).toEqual([429, [0, 30_000]]);
});

it('returns a 429 at once when all waits together would be longer than their limit', async () => {
  const [fits, tooLong, together, never] = [
    send(['10'], { maxRetryWaitMs: 10_000 }),
    send(['11'], { maxRetryWaitMs: 10_000 }),
    send(['6', '6'], { maxRetryWaitMs: 10_000, requestTimeoutMs: 0 }),
    send(['1'], { maxRetryWaitMs: 0 }),
  ];
  await vi.advanceTimersByTimeAsync(100_000);
  expect([await fits.outcome, fits.times()]).toEqual([200, [0, 10_000]]);
  expect([await tooLong.outcome, tooLong.times()]).toEqual([429, [0]]);
  expect([await together.outcome, together.times()]).toEqual([429, [0, 6_000]]);
  expect([await never.outcome, never.times()]).toEqual([429, [0]]);
});

it('waits for any time that a timer can measure when calls have no timeout', async () => {
  const [longest, tooLong] = [
    send(['2147483'], { requestTimeoutMs: 0 }),
    send(['2147484'], { requestTimeoutMs: 0 }),
  ];
  await vi.advanceTimersByTimeAsync(2_147_483_000);
  expect([await longest.outcome, longest.times()]).toEqual([200, [0, 2_147_483_000]]);
  expect([await tooLong.outcome, tooLong.times()]).toEqual([429, [0]]);
});

it('waits for nothing after a 408', async () => {
  const { outcome, times, cancelled } = send(['late']);
  await vi.advanceTimersByTimeAsync(10);
  expect([await outcome, times(), cancelled()]).toEqual([200, [0, 0], 1]);
});

it('returns a 429 without a time', async () => {
  const { outcome, times } = send([null], { requestTimeoutMs: 0 });
  expect([await outcome, times()]).toEqual([429, [0]]);
});

it('sends copies of the request, and at last the request itself', async () => {
  const { outcome, sent, request } = send(['0', '0', '0', '0']);
  await vi.advanceTimersByTimeAsync(10);
  expect(await outcome).toBe(429);
  expect(sent.map((one) => one.request === request)).toEqual([false, false, false, true]);
});

it('ends the wait when the signal aborts, and leaves neither timer nor listener', async () => {
  const controller = new AbortController();
  const { outcome, request, times } = send(['30'], { signal: controller.signal });
  await vi.advanceTimersByTimeAsync(100);
  const why = new Error('enough');
  controller.abort(why);
  expect(await outcome).toBe(why);
  expect([times(), vi.getTimerCount(), getEventListeners(request.signal, 'abort')]).toEqual([[0], 0, []]);
});

it('does not wait when the signal aborted before, and leaves no listener after a wait', async () => {
  const controller = new AbortController();
  const why = new Error('enough');
  const aborted = send(['30'], { signal: controller.signal, onResponse: () => controller.abort(why) });
  expect([await aborted.outcome, aborted.times(), vi.getTimerCount()]).toEqual([why, [0], 0]);
  const { outcome, request } = send(['1']);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toBe(200);
  expect(getEventListeners(request.signal, 'abort')).toEqual([]);
});
