import { expect, it } from 'vitest';
import { agentHost, ask, host, id, net, useLoopback } from '../loopback-client.ts';

useLoopback({ ports: { maskHost: `app-\${PORT}.internal:\${PORT}` } });

const serveHeaders = (port: number) =>
  net.serve(id, port, ({ rawHeaders }, response) => response.end(JSON.stringify(rawHeaders)));
const ofHost = (text: string): [string, string][] => {
  const raw: string[] = JSON.parse(text);
  return raw.flatMap((name, index) =>
    index % 2 === 0 && /host/i.test(name) ? [[name, raw[index + 1] ?? ''] as [string, string]] : [],
  );
};

it('replaces the host name that a program sees, and passes the public one on beside it', async () => {
  await serveHeaders(8000);
  const answer = await ask({ host: host(8000), 'X-Forwarded-Host': 'of the client', 'X-Own': 'kept' });
  expect(ofHost(answer.text)).toEqual([
    ['Host', 'app-8000.internal:8000'],
    ['X-Forwarded-Host', host(8000)],
  ]);
  expect(answer.text).toContain('kept');
});

it('masks the host name of an upgrade', async () => {
  const inside = await net.serve(id, 8001, () => {});
  const seen: unknown[] = [];
  inside.on('upgrade', ({ headers }, socket) => {
    seen.push(headers.host);
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  });
  await ask({ host: host(8001), connection: 'Upgrade', upgrade: 'x' });
  expect(seen).toEqual(['app-8001.internal:8001']);
});

it('leaves the host name of the agent', async () => {
  await serveHeaders(49_983);
  const answer = await ask({ host: agentHost }, { path: '/envs' });
  expect(ofHost(answer.text)).toEqual([['host', agentHost]]);
});
