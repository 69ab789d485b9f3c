import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Loopback, startLoopback } from '../loopback.ts';

describe('large bodies through the edge', () => {
  const bodies = Array.from({ length: 6 }, (_, index) => randomBytes(5_000_000 + index * 77_777));
  const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  let loopback: Loopback;
  beforeAll(async () => {
    loopback = await startLoopback();
    loopback.start('abc');
    await loopback.serve('abc', 80, async (incoming, answer) => {
      const body = bodies[Number(incoming.url?.slice(1))] as Buffer;
      answer.writeHead(200, { 'content-length': body.length });
      // In chunks of any size: the ends of reads and of chunks do not align.
      for (let at = 0; at < body.length; at += 61_003) {
        if (!answer.write(body.subarray(at, at + 61_003))) await once(answer, 'drain');
      }
      answer.end();
    });
  });
  afterAll(async () => {
    await loopback[Symbol.asyncDispose]();
  });

  const open = async (index: number, port = 80): Promise<IncomingMessage> => {
    const outgoing = request({
      port: loopback.port,
      host: '127.0.0.1',
      path: `/${index}`,
      headers: { host: `${port}-abc.example.test` },
    });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return answer;
  };
  const read = async (index: number, pauseMs: number, port?: number): Promise<string> => {
    const hash = createHash('sha256');
    for await (const chunk of await open(index, port)) {
      hash.update(chunk as Buffer);
      if (pauseMs > 0) await delay(pauseMs);
    }
    return hash.digest('hex');
  };

  it('arrive unchanged in parallel, for fast and slow readers, on reused connections', async () => {
    for (let round = 0; round < 3; round += 1) {
      const read6 = bodies.map((_, index) => read(index, index % 2));
      expect(await Promise.all(read6)).toEqual(bodies.map(digest));
    }
  });

  it('arrive whole from a server inside that ends the connection with its last bytes', async () => {
    const [body = Buffer.alloc(0)] = bodies;
    await loopback.serve('abc', 81, (_incoming, answer) => {
      answer.writeHead(200, { 'content-length': body.length, connection: 'close' });
      answer.write(body.subarray(0, -100));
      // A read of its own, which is small enough to wait for more.
      setTimeout(() => answer.end(body.subarray(-100)), 20);
    });
    for (let round = 0; round < 10; round += 1) expect(await read(0, 0, 81)).toBe(digest(body));
  });

  it('arrive unchanged while other readers disconnect in the middle', async () => {
    for (let round = 0; round < 5; round += 1) {
      const leaving = await open(1);
      leaving.on('error', () => undefined);
      leaving.once('data', () => leaving.destroy());
      expect(await Promise.all([read(0, 0), read(2, 1)])).toEqual(
        [bodies[0], bodies[2]].map((it) => digest(it as Buffer)),
      );
    }
  });
});
