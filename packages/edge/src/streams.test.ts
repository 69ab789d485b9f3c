import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agentHost, answerTo, ask, host, id, net, send, useLoopback } from './loopback-client.ts';

useLoopback();

describe('streams', () => {
  it('delivers the head and each event of an answer while the server inside is still writing', async () => {
    const steps: (() => void)[] = [];
    await net.serve(id, 3000, (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      steps.push(
        () => res.write('data: 1\n\n'),
        () => res.write('data: 2\n\n'),
        () => res.end(),
      );
    });
    const answer = await answerTo(send({ headers: { host: host(3000) } }));
    const chunks = answer[Symbol.asyncIterator]();
    steps[0]?.();
    expect(String((await chunks.next()).value)).toBe('data: 1\n\n');
    steps[1]?.();
    expect(String((await chunks.next()).value)).toBe('data: 2\n\n');
    steps[2]?.();
    expect((await chunks.next()).done).toBe(true);
  });

  it('delivers each part of a request while the client is still sending, and a response before the request ends', async () => {
    const arrived: string[] = [];
    await net.serve(id, 3000, (req, res) => {
      res.flushHeaders();
      req.on('data', (chunk: Buffer) => {
        arrived.push(String(chunk));
        res.write(`ack ${String(chunk)}`);
      });
      req.on('end', () => res.end());
    });
    const client = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: host(3000) },
    });
    client.write('one');
    const answer = await answerTo(client);
    const chunks = answer[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe('ack one');
    client.write('two');
    expect(String((await chunks.next()).value)).toBe('ack two');
    expect(arrived).toEqual(['one', 'two']);
    client.end();
    expect((await chunks.next()).done).toBe(true);
  });

  it.each(['with a length', 'chunked'])('carries 100 MB each way unchanged, %s', async (framing) => {
    const part = randomBytes(1 << 20);
    const parts = 100;
    const expected = createHash('sha256');
    for (let index = 0; index < parts; index++) expected.update(part);
    const digest = expected.digest('hex');
    const length = framing === 'chunked' ? {} : { 'content-length': parts * part.length };
    const write = async (stream: NodeJS.WritableStream): Promise<void> => {
      for (let index = 0; index < parts; index++) if (!stream.write(part)) await once(stream, 'drain');
      stream.end();
    };
    const hashOf = async (stream: AsyncIterable<Buffer>): Promise<string> => {
      const hash = createHash('sha256');
      for await (const chunk of stream) hash.update(chunk);
      return hash.digest('hex');
    };
    await net.serve(id, 49_983, async (req, res) => {
      if (req.method === 'POST') res.end(await hashOf(req));
      else {
        res.writeHead(200, length);
        await write(res);
      }
    });
    expect(await hashOf(await answerTo(send({ headers: { host: agentHost } })))).toBe(digest);
    const upload = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: agentHost, ...length },
    });
    const [answer] = await Promise.all([answerTo(upload), write(upload)]);
    expect(await text(answer)).toBe(digest);
  });

  it('applies backpressure to the server inside while the client does not read', async () => {
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    function* endless(): Generator<Buffer> {
      for (;;) {
        written += chunk.length;
        yield chunk;
      }
    }
    await net.serve(id, 3000, (_req, res) => Readable.from(endless()).pipe(res));
    const answer = await answerTo(send({ headers: { host: host(3000) } }));
    answer.pause();
    for (let before = -1; before !== written; ) {
      before = written;
      await delay(300);
      expect(written).toBeLessThan(32 << 20);
    }
    answer.destroy();
  });

  it('forwards an early response and keeps the connection usable when the server inside does not read the body', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'),
      );
    });
    await net.serve(id, 3001, (_req, res) => res.end('next'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answer = await ask({ host: host(3000) }, { method: 'POST', agent }, Buffer.alloc(5 << 20));
    expect(answer).toMatchObject({ status: 413, text: 'no' });
    expect((await ask({ host: host(3001) }, { agent })).text).toBe('next');
    agent.destroy();
  });

  it('keeps the connection usable when the server inside answers before it reads the rest of the body', async () => {
    await net.serve(id, 3000, async (req, res) => {
      await once(req, 'readable');
      await delay(50);
      res.end('full');
      await delay(50);
      req.resume();
    });
    await net.serve(id, 3001, (_req, res) => res.end('next'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < 3; round += 1) {
      const answer = await ask({ host: host(3000) }, { method: 'POST', agent }, Buffer.alloc(5 << 20));
      expect(answer.text).toBe('full');
    }
    expect((await ask({ host: host(3001) }, { agent })).text).toBe('next');
    agent.destroy();
  });

  it('closes the connection inside when a client disconnects after an early response without sending its body', async () => {
    const closed = Promise.withResolvers<void>();
    await net.serve(id, 3000, (req, res) => {
      req.socket.once('close', () => closed.resolve());
      res.end('early');
    });
    const client = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: host(3000), 'content-length': 1000 },
    });
    client.on('error', () => undefined);
    client.write('part');
    expect(await text(await answerTo(client))).toBe('early');
    client.destroy();
    await closed.promise;
  });
});
