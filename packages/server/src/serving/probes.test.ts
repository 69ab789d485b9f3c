import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createProbes } from './probes.ts';

const start = async () => {
  const probes = createProbes({ domain: 'boxes.test', sharedHosts: [] });
  const server = createServer((request, response) => {
    if (!probes.answer(request, response)) response.writeHead(299).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const call = async (path: string, { host = 'boxes.test', method = 'GET' } = {}) => {
    const [answer] = await once(
      ask({ host: '127.0.0.1', port, path, method, headers: { host } }).end(),
      'response',
    );
    let body = '';
    for await (const chunk of answer) body += chunk;
    return { status: answer.statusCode, body, retryAfter: answer.headers['retry-after'] };
  };
  return { probes, call };
};

it('is alive from the start, and ready when nothing is missing', async () => {
  const { probes, call } = await start();
  expect(await call('/livez')).toMatchObject({ status: 200, body: '{"status":"alive"}\n' });
  expect(await call('/readyz')).toEqual({
    status: 503,
    body: '{"status":"not ready","reasons":["starting"]}\n',
    retryAfter: '1',
  });
  let missing: string[] = [];
  probes.set(async () => missing);
  expect(await call('/readyz?verbose')).toMatchObject({ status: 200, body: '{"status":"ready"}\n' });
  missing = ['database'];
  expect(await call('/readyz')).toMatchObject({
    status: 503,
    body: expect.stringContaining('["database"]'),
  });
  probes.set('draining');
  expect(await call('/readyz')).toMatchObject({
    status: 503,
    body: expect.stringContaining('["draining"]'),
  });
  expect(await call('/livez')).toMatchObject({ status: 200 });
});

it('leaves these paths of sandboxes, and other methods, alone', async () => {
  const { call } = await start();
  expect(await call('/livez', { host: '3000-one.boxes.test' })).toMatchObject({ status: 299 });
  expect(await call('/readyz', { host: '3000-one.boxes.test' })).toMatchObject({ status: 299 });
  expect(await call('/livez', { method: 'POST' })).toMatchObject({ status: 299 });
});
