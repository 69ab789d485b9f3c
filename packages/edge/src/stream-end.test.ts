import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agentHost, answerTo, host, id, net, send, useLoopback } from './loopback-client.ts';

useLoopback();

const envelope = (text: string): Buffer => {
  const head = Buffer.from([0, 0, 0, 0, 0]);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, Buffer.from(text)]);
};
const said = [envelope('{"event":{}}'), envelope(''), envelope('x'.repeat(300))];
/** The bytes of the error that ends a stream. */
const lastBytes = envelope('{"error":{"code":"unavailable","message":"The sandbox was not found"}}');
lastBytes[0] = 2;

/** Opens a stream whose server sends these bytes and goes on, and resolves when they have arrived. */
const open = async (
  pieces: readonly Buffer[],
  { type = 'application/connect+json', port = 49_983, heldBytes = 0 } = {},
): Promise<{ answer: IncomingMessage; rest: Promise<Buffer> }> => {
  await net.serve(id, port, async (_req, res) => {
    res.writeHead(200, { 'content-type': type });
    for (const piece of pieces) {
      res.write(piece);
      await new Promise(setImmediate);
    }
  });
  const headers = { host: port === 49_983 ? agentHost : host(port) };
  const client = send({ method: 'POST', path: '/process.Process/Start', headers });
  client.on('error', () => undefined);
  const answer = await answerTo(client);
  let arrivedBytes = 0;
  answer.on('data', (chunk: Buffer) => {
    arrivedBytes += chunk.length;
  });
  const rest = buffer(answer);
  // Expected by the tests later; this marks the rejection as handled.
  rest.catch(() => undefined);
  await expect.poll(() => arrivedBytes).toBe(Buffer.concat(pieces).length - heldBytes);
  return { answer, rest };
};

const cut = { code: 'ECONNRESET' };

describe('a stream from the agent whose sandbox ends', () => {
  it.each(['application/connect+json', 'application/connect+proto'])(
    'ends with the error of a sandbox that is not there: %s',
    async (type) => {
      const all = Buffer.concat(said);
      // Cut at places that are no borders of envelopes.
      const pieces = [all.subarray(0, 3), all.subarray(3, 19), all.subarray(19, 24), all.subarray(24)];
      const { rest, answer } = await open(pieces, { type });
      net.end(id);
      expect((await rest).equals(Buffer.concat([all, lastBytes]))).toBe(true);
      expect(answer.complete).toBe(true);
    },
  );

  it.each([
    ['of the content of an envelope', [envelope('y'.repeat(300)).subarray(0, -1)]],
    ['of the content of an envelope, which comes in pieces', [...envelope('y'.repeat(9)).subarray(0, -1)]],
    ['of the head of an envelope', [Buffer.from([0, 0])]],
  ])('ends with this error in the middle %s, which does not pass', async (_where, partial) => {
    const partly = partial.map((piece) => (typeof piece === 'number' ? Buffer.from([piece]) : piece));
    const { rest, answer } = await open([...said, ...partly], { heldBytes: Buffer.concat(partly).length });
    net.end(id);
    expect((await rest).equals(Buffer.concat([...said, lastBytes]))).toBe(true);
    expect(answer.complete).toBe(true);
  });

  it('ends with this error for a client that has not read all that came before, too', async () => {
    const piece = envelope('z'.repeat(30_000));
    let isFull = false;
    await net.serve(id, 49_983, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/connect+json' });
      const more = (): void => {
        while (res.write(piece));
        isFull = true;
      };
      res.on('drain', more);
      more();
    });
    const headers = { host: agentHost };
    const answer = await answerTo(send({ method: 'POST', path: '/process.Process/Start', headers }));
    await expect.poll(() => isFull).toBe(true);
    // The buffers of all connections are full when nothing more is asked for.
    await delay(200);
    net.end(id);
    await delay(50);
    const read = await buffer(answer);
    expect(answer.complete).toBe(true);
    expect(read.subarray(-lastBytes.length).equals(lastBytes)).toBe(true);
  });

  it('passes envelopes of each size whole, whatever their pieces are', async () => {
    const sizes = [0, 1, 4, 5, 65_530, 65_531, 65_532, 200_000, 3];
    const all = Buffer.concat(sizes.map((size) => envelope('z'.repeat(size))));
    for (const pieceBytes of [1_000, 4_096, 65_536, all.length]) {
      const pieces = [];
      for (let at = 0; at < all.length; at += pieceBytes) pieces.push(all.subarray(at, at + pieceBytes));
      const { rest } = await open(pieces);
      net.end(id);
      expect((await rest).equals(Buffer.concat([all, lastBytes]))).toBe(true);
      net.start(id);
    }
  });

  it.each([
    [
      'in the middle of an envelope that is too large to be held',
      envelope('x'.repeat(70_000)).subarray(0, -1),
    ],
    ['behind the last envelope', Buffer.concat([...said, Buffer.from([2, 0, 0, 0, 2, 123, 125])])],
  ])('is reset %s', async (_where, bytes) => {
    const { rest } = await open([bytes]);
    net.end(id);
    await expect(rest).rejects.toMatchObject(cut);
  });

  it('is reset where it is no stream of the protocol, or one of another port', async () => {
    for (const options of [{ type: 'application/json' }, { port: 3000 }]) {
      const { rest } = await open(said, options);
      net.end(id);
      await expect(rest).rejects.toMatchObject(cut);
      net.start(id);
    }
  });

  it('is reset when the edge ends, and the sandbox does not', async () => {
    const { rest } = await open(said);
    await net.edge.close();
    await expect(rest).rejects.toMatchObject(cut);
  });
});
