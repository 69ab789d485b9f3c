import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Loopback, startLoopback } from '../loopback.ts';
import { RecycledReads } from './recycled-reads.ts';

describe('a connection', () => {
  const pushed: Buffer[] = [];
  const socket = { push: (piece: Buffer) => pushed.push(piece) > 0 } as never;
  const fill = (buffer: Uint8Array, value: number): Uint8Array => buffer.fill(value, 0, 10);

  it('with a sink reuses its memory when the sink is done with it, and not before', () => {
    const taken: { piece: Uint8Array; done: () => void }[] = [];
    const reads = new RecycledReads();
    reads.sink = { isReady: () => true, write: (piece, done) => taken.push({ piece, done }) > 1 };
    const first = reads.nextBuffer();
    expect(reads.receive(socket, 10, fill(first, 1))).toBe(false);
    const second = reads.nextBuffer();
    expect(second).not.toBe(first);
    expect(reads.receive(socket, 10, fill(second, 2))).toBe(true);
    expect(taken.map(({ piece }) => [...piece])).toEqual([Array(10).fill(1), Array(10).fill(2)]);
    taken[0]?.done();
    expect(reads.nextBuffer()).toBe(first);
    expect(pushed).toEqual([]);
  });

  it('copies what it reads without a sink, and with a sink that waits for earlier chunks', () => {
    const reads = new RecycledReads();
    const buffer = reads.nextBuffer();
    reads.receive(socket, 10, fill(buffer, 1));
    fill(reads.nextBuffer(), 2);
    reads.sink = { isReady: () => false, write: () => expect.unreachable() };
    reads.receive(socket, 10, fill(reads.nextBuffer(), 3));
    fill(reads.nextBuffer(), 4);
    expect(pushed.splice(0).map((piece) => [...piece])).toEqual([Array(10).fill(1), Array(10).fill(3)]);
  });
});

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

  const open = async (index: number): Promise<IncomingMessage> => {
    const outgoing = request({
      port: loopback.port,
      host: '127.0.0.1',
      path: `/${index}`,
      headers: { host: '80-abc.example.test' },
    });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return answer;
  };
  const read = async (index: number, pauseMs: number): Promise<string> => {
    const hash = createHash('sha256');
    for await (const chunk of await open(index)) {
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
