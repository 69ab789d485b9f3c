import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ask, host, id, net, raw, useLoopback } from './loopback-client.ts';

useLoopback();

describe('routing', () => {
  const echoHost = () => net.serve(id, 3000, (req, res) => res.end(`${req.headers.host}|${req.url}`));

  it('forwards the Host header and the path unchanged', async () => {
    await echoHost();
    const name = `3000-${id}.example.test:8443`;
    expect((await ask({ host: name }, { path: '/a//b%2F?c=%20' })).text).toBe(`${name}|/a//b%2F?c=%20`);
  });

  it.each(['localhost:1234', '127.0.0.1', '[::1]:80', 'sandbox.example.test', 'shared.test'])(
    'follows the routing headers on the shared host %s',
    async (name) => {
      await echoHost();
      const answer = await ask({ host: name, 'e2b-sandbox-id': id, 'e2b-sandbox-port': '3000' });
      expect(answer.text).toBe(`${name}|/`);
    },
  );

  it('ignores the routing headers where the host name names a sandbox', async () => {
    await echoHost();
    const answer = await ask({ host: host(3000), 'e2b-sandbox-id': 'iother', 'e2b-sandbox-port': '1' });
    expect(answer.status).toBe(200);
  });

  it('refuses requests that two servers could parse differently', async () => {
    await echoHost();
    const head = `Host: ${host(3000)}\r\nConnection: close\r\n`;
    const refused = [
      `GET http://${host(1)}/ HTTP/1.1\r\n${head}\r\n`,
      `GET / HTTP/1.1\r\n${head}Host: ${host(1)}\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      `POST / HTTP/1.1\r\n${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    ];
    for (const bytes of refused) expect(await raw(bytes), bytes).toMatch(/^HTTP\/1\.1 400 /);
    expect(net.dialled).toEqual([]);
  });

  it('keeps the framing of a body even when Connection names Content-Length', async () => {
    await net.serve(id, 3000, async (req, res) =>
      res.end(`${await text(req)}|${req.headers['content-length']}`),
    );
    const body = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const bytes = `GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close, content-length\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect(await raw(bytes)).toContain(`${body}|${body.length}`);
  });
});
