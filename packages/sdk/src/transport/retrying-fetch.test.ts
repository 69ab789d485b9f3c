import { expect, it } from 'vitest';
import { listen } from '../testing/listen.ts';
import { createRetryingFetch } from './retrying-fetch.ts';

async function serve(retryAfter: (attempt: number) => string | undefined) {
  const bodies: string[] = [];
  const host = await listen((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      const value = retryAfter(bodies.length);
      if (value === 'done') response.writeHead(200);
      else if (value === 'late') response.writeHead(408, { connection: 'close' });
      else response.writeHead(429, value === undefined ? {} : { 'retry-after': value });
      response.end();
    });
  });
  const send = (requestTimeoutMs: number, signal?: AbortSignal) =>
    createRetryingFetch({ fetch: undefined, requestTimeoutMs, maxRetryWaitMs: 60_000 })(
      new Request(`http://${host}/`, { method: 'POST', body: 'payload', ...(signal ? { signal } : {}) }),
    );
  return { bodies, send };
}

it('repeats a rate-limited request, with its body, until it succeeds', async () => {
  const { bodies, send } = await serve((attempt) => (attempt < 3 ? '0' : 'done'));
  expect((await send(60_000)).status).toBe(200);
  expect(bodies).toEqual(['payload', 'payload', 'payload']);
});

it('repeats a request, with its body, that the server answers with 408', async () => {
  const { bodies, send } = await serve((attempt) => (attempt === 1 ? 'late' : 'done'));
  expect((await send(0)).status).toBe(200);
  expect(bodies).toEqual(['payload', 'payload']);
});

it('gives up after three retries', async () => {
  const { bodies, send } = await serve(() => '0');
  expect((await send(60_000)).status).toBe(429);
  expect(bodies).toHaveLength(4);
});

it.each([undefined, 'soon', '-1', '1.5', '61'])(
  'does not retry for a Retry-After of %s and a timeout of a minute',
  async (value) => {
    const { bodies, send } = await serve(() => value);
    expect((await send(60_000)).status).toBe(429);
    expect(bodies).toHaveLength(1);
  },
);

it('stops waiting when the call is aborted', async () => {
  const { bodies, send } = await serve(() => '30');
  const controller = new AbortController();
  const answer = send(60_000, controller.signal);
  const rejected = expect(answer).rejects.toThrow('enough');
  await expect.poll(() => bodies).toHaveLength(1);
  setTimeout(() => controller.abort(new Error('enough')), 50);
  await rejected;
  expect(bodies).toHaveLength(1);
});
