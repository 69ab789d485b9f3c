import { afterEach, expect, it, vi } from 'vitest';
import { AuthenticationError } from '../errors.ts';
import { callApi, createConnection, resolveAddresses } from './connection.ts';
import type { ConnectionOptions } from './connection-options.ts';

afterEach(() => vi.unstubAllEnvs());

it.each([
  [{}, { apiUrl: 'http://localhost:4000', domain: 'localhost:4000' }],
  [{ domain: 'localhost:5000' }, { apiUrl: 'http://localhost:5000', domain: 'localhost:5000' }],
  [{ domain: '10.0.0.7:80' }, { apiUrl: 'http://10.0.0.7:80', domain: '10.0.0.7:80' }],
  [{ domain: '[::1]:4000' }, { apiUrl: 'http://[::1]:4000', domain: '[::1]:4000' }],
  [{ domain: 'example.com' }, { apiUrl: 'https://api.example.com', domain: 'example.com' }],
  [{ domain: 'localhost.example.com:8443' }, { apiUrl: 'https://api.localhost.example.com:8443' }],
  [{ apiUrl: 'https://api.example.com' }, { apiUrl: 'https://api.example.com', domain: 'example.com' }],
  [{ apiUrl: 'http://box:4000' }, { apiUrl: 'http://box:4000', domain: 'box:4000' }],
  [{ apiUrl: '', domain: 'example.com' }, { apiUrl: 'https://api.example.com' }],
])('derives the addresses from %j', (options, expected) => {
  expect(resolveAddresses(options)).toMatchObject(expected);
});

it('prefers options, then SKERRY_*, then E2B_*, and treats an empty value as unset', () => {
  vi.stubEnv('E2B_API_URL', 'http://e2b:1');
  vi.stubEnv('E2B_DOMAIN', 'e2b.example');
  vi.stubEnv('E2B_SANDBOX_URL', 'http://e2b:2');
  expect(resolveAddresses({})).toEqual({
    apiUrl: 'http://e2b:1',
    domain: 'e2b.example',
    sandboxUrl: 'http://e2b:2',
  });
  vi.stubEnv('SKERRY_API_URL', 'http://skerry:1');
  vi.stubEnv('SKERRY_DOMAIN', '');
  expect(resolveAddresses({ sandboxUrl: 'http://option:1' })).toEqual({
    apiUrl: 'http://skerry:1',
    domain: 'e2b.example',
    sandboxUrl: 'http://option:1',
  });
});

it('reports a 429 that asks for half a minute at once, and waits for it where that is allowed', async () => {
  const sent: number[] = [];
  const fetch = async () => {
    sent.push(Date.now());
    return new Response('{"code":429,"message":"full"}', {
      status: 429,
      headers: { 'retry-after': '30', 'content-type': 'application/json' },
    });
  };
  const options = { apiKey: 'e2b_00', apiUrl: 'http://box:4000', fetch };
  const list = (more: ConnectionOptions, signal?: AbortSignal) =>
    callApi(createConnection({ ...options, ...more }), { signal }, (api, signal) =>
      api.GET('/v2/sandboxes', { signal }),
    );
  await expect(list({})).rejects.toMatchObject({ code: 'resource_exhausted', retryAfterMs: 30_000 });
  expect(sent).toHaveLength(1);
  const controller = new AbortController();
  const waiting = list({ maxRetryWaitMs: 30_000 }, controller.signal).catch((error: unknown) => error);
  await expect.poll(() => sent.length).toBe(2);
  setTimeout(() => controller.abort(), 20);
  expect(await waiting).toMatchObject({ code: 'canceled' });
  expect(sent).toHaveLength(2);
});

it('throws without an API key, before it sends a request', () => {
  vi.stubEnv('SKERRY_API_KEY', '');
  vi.stubEnv('E2B_API_KEY', '');
  expect(() => createConnection({})).toThrow(AuthenticationError);
  vi.stubEnv('E2B_API_KEY', 'e2b_00');
  expect(createConnection({}).apiUrl).toBe('http://localhost:4000');
});
