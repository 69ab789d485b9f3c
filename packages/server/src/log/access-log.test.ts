import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { logAccess } from './access-log.ts';

const start = async (isForSandbox: boolean, answer: 'ends' | 'breaks off') => {
  const lines: Record<string, unknown>[] = [];
  const log = { debug: (_: string, fields = {}) => void lines.push(fields) };
  const server = createServer((request, response) => {
    logAccess(log, request, response, { isForSandbox });
    response.writeHead(202);
    if (answer === 'ends') response.end('ok');
    else response.write('half', () => response.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const call = async (path: string, headers: Record<string, string> = {}): Promise<void> => {
    const asked = ask({ host: '127.0.0.1', port, path, headers }).end();
    const [response] = await once(asked, 'response');
    await new Promise((resolve) => response.on('error', resolve).on('close', resolve).resume());
  };
  return { lines, call };
};

it('writes a line for each request, with its id and without its query', async () => {
  const { lines, call } = await start(false, 'ends');
  await call('/sandboxes?limit=1', { 'x-request-id': 'mine-1' });
  await call('/health');
  await expect.poll(() => lines.length).toBe(2);
  expect(lines[0]).toEqual({
    requestId: 'mine-1',
    method: 'GET',
    path: '/sandboxes',
    status: 202,
    isComplete: true,
    tookMs: expect.any(Number),
  });
  expect(lines[1]).toMatchObject({ requestId: expect.stringMatching(/^[0-9a-f-]{36}$/), path: '/health' });
});

it('names the host instead of the path of a request to a sandbox', async () => {
  const { lines, call } = await start(true, 'ends');
  await call('/private?signature=secret', { host: '3000-one.example.test' });
  await expect.poll(() => lines).toMatchObject([{ host: '3000-one.example.test' }]);
  expect(JSON.stringify(lines)).not.toMatch(/private|secret/);
});

it('shows that an answer broke off', async () => {
  const { lines, call } = await start(false, 'breaks off');
  await call('/sandboxes');
  await expect.poll(() => lines).toMatchObject([{ status: 202, isComplete: false }]);
});
