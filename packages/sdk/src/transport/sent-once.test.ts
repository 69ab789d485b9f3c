import { expect, it } from 'vitest';
import { listen } from '../testing/listen.ts';
import { createRetryingFetch } from './retrying-fetch.ts';

/** Answers everything so, with a word on when to come back, and counts. */
const serve = async (status: number) => {
  let requests = 0;
  const host = await listen((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.writeHead(status, { 'retry-after': '0' }).end());
  });
  const send = (method: string) =>
    createRetryingFetch({ fetch: undefined, requestTimeoutMs: 60_000, maxRetryWaitMs: 0 })(
      new Request(`http://${host}/`, { method, ...(method === 'GET' ? {} : { body: 'payload' }) }),
    );
  return { send, requests: () => requests };
};

// Whether a server that answers so has acted on the request before cannot be known.
it.each([500, 502, 503, 504].flatMap((status) => ['POST', 'GET'].map((method) => [method, status] as const)))(
  'a %s answered %i is sent once',
  async (method, status) => {
    const { send, requests } = await serve(status);
    expect((await send(method)).status).toBe(status);
    expect(requests()).toBe(1);
  },
);
