import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { answerTo, ask, host, id, net, raw, send, useLoopback } from './loopback-client.ts';

useLoopback();

describe('headers', () => {
  it('drops hop-by-hop fields both ways and keeps repeated ones', async () => {
    let seen: string[] = [];
    await net.serve(id, 3000, (req, res) => {
      seen = req.rawHeaders;
      res.writeHead(203, 'Fine', [
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
        'X-Secret',
        'q',
        'Connection',
        'close, X-Secret',
      ]);
      res.end();
    });
    const answer = await answerTo(
      send({
        headers: {
          host: host(3000),
          'X-Up': ['1', '2'],
          'X-Hop': 'h',
          Connection: 'close, X-Hop',
          TE: 'gzip',
        },
      }),
    );
    answer.resume();
    expect(answer.statusMessage).toBe('Fine');
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers).not.toHaveProperty('x-secret');
    expect(seen.filter((_, index) => index % 2 === 0)).toEqual(['host', 'X-Up', 'X-Up', 'Connection']);
    // The last value is that of the edge's own `Connection` header.
    expect(seen.at(-1)).not.toContain('X-Hop');
  });

  const hopByHop = [
    ...['Keep-Alive', 'Proxy-Authenticate', 'Proxy-Authorization', 'Proxy-Connection', 'TE', 'Trailer'],
    'Upgrade',
  ].map((name) => `${name}: a`);
  const namesSeen = async (head: string[]): Promise<string[]> => {
    let seen: string[] = [];
    await net.serve(id, 3000, (req, res) => {
      seen = req.rawHeaders;
      res.writeHead(200, { Connection: 'close' });
      res.end();
    });
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\n${[...head, 'X-Last: b'].join('\r\n')}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    return seen.filter((_, index) => index % 2 === 0);
  };

  it('drops every hop-by-hop field, with or without Connection', async () => {
    const without = await namesSeen(hopByHop);
    expect(without.filter((name) => name !== 'Connection')).toEqual(['Host', 'X-Last']);
    const beside = await namesSeen(['X-Named: c', 'Connection: keep-alive , X-NAMED', ...hopByHop]);
    expect(beside.filter((name) => name !== 'Connection')).toEqual(['Host', 'X-Last']);
  });

  it('keeps Host even when Connection names it', async () => {
    expect(await namesSeen(['Connection: Host, close'])).toContain('Host');
  });

  const serveLengths = () =>
    net.serve(id, 3000, async (req, res) => {
      const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
      res.end(`${await text(req)}|${length}|${encoding}`);
    });

  it('keeps the length of a body even when Connection names it', async () => {
    await serveLengths();
    const head = `POST / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close, Content-Length\r\n`;
    expect(await raw(`${head}Content-Length: 1\r\n\r\nb`)).toContain('b|1|undefined');
  });

  it('forwards a body of one byte, of a known length and in chunks', async () => {
    await serveLengths();
    const post = `POST / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n`;
    expect(await raw(`${post}Content-Length: 1\r\n\r\nb`)).toContain('b|1|undefined');
    expect(await raw(`${post}Transfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n`)).toContain(
      'b|undefined|chunked',
    );
  });

  it('forwards 12 KB of headers to the server inside and 40 KB back', async () => {
    await net.serve(id, 3000, (req, res) => {
      res.setHeader('X-Long', String(req.headers['x-long']).toUpperCase());
      res.end();
    });
    // The server inside has Node's own limit of 16 KB on requests.
    const long = 'a'.repeat(12_000);
    const answer = await ask({ host: host(3000), 'x-long': long }, { maxHeaderSize: 65_536 });
    expect(answer.headers['x-long']).toBe(long.toUpperCase());
    await net.serve(id, 3001, (_req, res) => {
      for (let index = 0; index < 4; index++) res.setHeader(`X-Long-${index}`, 'b'.repeat(10_000));
      res.end();
    });
    const other = await ask({ host: host(3001) }, { maxHeaderSize: 65_536 });
    expect(other.headers['x-long-3']).toBe('b'.repeat(10_000));
  });

  it('sends a POST without a body as one of length 0, and a GET without any length', async () => {
    await net.serve(id, 3000, (req, res) =>
      res.end(`${req.headers['content-length']}|${req.headers['transfer-encoding']}`),
    );
    expect(await raw(`POST / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`)).toContain(
      '0|undefined',
    );
    expect((await ask({ host: host(3000) })).text).toBe('undefined|undefined');
  });

  it('answers HEAD with the length and no body, on a connection that stays usable', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.setHeader('Content-Length', 5);
      res.end('hello');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const head = await ask({ host: host(3000) }, { method: 'HEAD', agent });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe('5');
    expect((await ask({ host: host(3000) }, { agent })).text).toBe('hello');
    agent.destroy();
  });

  it('leaves the decision about Expect: 100-continue to the server inside', async () => {
    const inside = await net.serve(id, 3000, (_req, res) => res.end());
    inside.on('checkContinue', (req: IncomingMessage, res) => {
      if (req.headers['x-go'] === 'yes') {
        res.writeContinue();
        void text(req).then((body) => res.end(`got ${body}`));
      } else {
        res.writeHead(417);
        res.end();
      }
    });
    const start = (go: string): ClientRequest => {
      const client = request({
        host: '127.0.0.1',
        port: net.port,
        agent: false,
        method: 'POST',
        headers: { host: host(3000), expect: '100-continue', 'x-go': go, 'content-length': 4 },
      });
      client.flushHeaders();
      return client;
    };
    const refused = start('no');
    let continued = false;
    refused.on('continue', () => {
      continued = true;
    });
    expect((await answerTo(refused)).statusCode).toBe(417);
    expect(continued).toBe(false);
    refused.destroy();

    const accepted = start('yes');
    await once(accepted, 'continue');
    accepted.end('body');
    expect(await text(await answerTo(accepted))).toBe('got body');
  });
});
