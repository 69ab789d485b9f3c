import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { toReadOptions } from '@skerry/contract/read-options';
import { RecycledReads } from '@skerry/contract/recycled-reads';
import { afterEach, describe, expect, it } from 'vitest';
import { join } from './join.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

/** The two ends of a TCP connection. `reader`: how the first is read. */
const openPair = async (reader?: RecycledReads): Promise<[Socket, Socket]> => {
  const server = createServer({ allowHalfOpen: true });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const socket: Socket = connect({
    port,
    host: '127.0.0.1',
    allowHalfOpen: true,
    ...toReadOptions(reader, () => socket),
  });
  await once(socket, 'connect');
  const [other] = await accepted;
  for (const end of [socket, other]) {
    end.on('error', () => undefined);
    sockets.push(end);
  }
  return [socket, other];
};

/** A client and a server, each with a connection to a process between them that joins the two. */
const joinBoth = async ({
  isRecycled,
}: {
  isRecycled: boolean;
}): Promise<{ client: Socket; server: Socket }> => {
  const reader = isRecycled ? new RecycledReads() : undefined;
  const [[one, client], [other, server]] = await Promise.all([openPair(), openPair(reader)]);
  join(one, { stream: other, ...(reader && { reader }) });
  return { client, server };
};

/** The other side has ended its half, or the connection is broken. */
const over = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once('end', resolve).once('close', () => resolve());
  });

/** Writes in pieces of a few bytes to many, which do not align with the reads on the way. */
const send = async (to: Socket, body: Buffer): Promise<void> => {
  let at = 0;
  for (let piece = 1; at < body.length; piece = (piece * 7) % 300_007) {
    if (!to.write(body.subarray(at, at + piece))) await once(to, 'drain');
    at += piece;
  }
  to.end();
};

/** Reads one half to its end. The other half goes on, although an iterator destroys its stream at the end unless told otherwise. */
const receive = async (from: Socket, pauseMs = 0): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (pauseMs > 0) await delay(pauseMs);
  }
  return Buffer.concat(chunks);
};

/** Fails with the place and the bytes of the first difference, and with where else in the body those bytes are. */
const expectUnchanged = (received: Buffer, sent: Buffer): void => {
  if (received.equals(sent)) return;
  let at = 0;
  while (at < received.length && received[at] === sent[at]) at += 1;
  const found = received.subarray(at, at + 16);
  expect.fail(
    `${received.length} of ${sent.length} bytes arrived, which differ from byte ${at} on: ` +
      `${found.toString('hex') || 'nothing'} instead of ${sent.subarray(at, at + 16).toString('hex')}, ` +
      `and was sent at byte ${found.length === 16 ? sent.indexOf(found) : -1}`,
  );
};

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

describe.each([
  { name: 'connections that are read by streams', isRecycled: false },
  { name: 'connections of which one is read into reused memory', isRecycled: true },
])('$name', ({ isRecycled }) => {
  it.each([0, 1])('pass bodies both ways unchanged, with readers that wait %i ms', async (pauseMs) => {
    const [up, down] = [randomBytes(10_000_000), randomBytes(10_077_777)];
    const { client, server } = await joinBoth({ isRecycled });
    const received = Promise.all([receive(server, pauseMs), receive(client, pauseMs)]);
    await Promise.all([send(client, up), send(server, down)]);
    const [atServer, atClient] = await received;
    expectUnchanged(atServer, up);
    expectUnchanged(atClient, down);
  });

  it('pass a body on to its end after the other half has ended, to a reader that begins only then', async () => {
    const down = randomBytes(20_000_000);
    const { client, server } = await joinBoth({ isRecycled });
    client.end('question');
    server.end(down);
    expect(String(await receive(server))).toBe('question');
    expect(server.writableFinished).toBe(false);
    expectUnchanged(await receive(client), down);
  });

  it('keep one half open after the end of the other', async () => {
    const { client, server } = await joinBoth({ isRecycled });
    client.end('question');
    const [question] = (await once(server, 'data')) as [Buffer];
    await once(server.resume(), 'end');
    server.end(`${String(question)} and answer`);
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(String(answer)).toBe('question and answer');
  });

  it('hold a few MiB for a reader that has stopped, and no more', async () => {
    const { client, server } = await joinBoth({ isRecycled });
    client.pause();
    const chunk = Buffer.alloc(2 ** 20);
    let sentBytes = 0;
    const fill = (): void => {
      sentBytes += chunk.length;
      server.write(chunk);
    };
    server.on('drain', fill);
    fill();
    let before = -1;
    while (before !== sentBytes) {
      before = sentBytes;
      await delay(300);
    }
    expect(sentBytes).toBeLessThan(40 * 2 ** 20);
    const broken = over(server);
    client.destroy();
    await broken;
  });

  it('break together', async () => {
    const first = await joinBoth({ isRecycled });
    first.client.resetAndDestroy();
    await over(first.server.resume());
    const second = await joinBoth({ isRecycled });
    second.server.resetAndDestroy();
    await over(second.client.resume());
  });
});
