import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { splice } from './splice.ts';

/** Both ends of a connection over loopback. */
const toPair = async (): Promise<[near: Socket, far: Socket]> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  const [near] = (await once(server, 'connection')) as [Socket];
  near.on('error', () => {});
  server.close();
  onTestFinished(() => {
    near.destroy();
    far.destroy();
  });
  return [near, far];
};

const join = (client: Socket, upstream: Socket): void =>
  splice({
    client,
    clientHead: Buffer.from('early'),
    upstream,
    upstreamHead: Buffer.from('hello'),
    accept: () => undefined,
  });

describe('an upgrade to another protocol', () => {
  it('closes the connection inside when the client has disconnected in the meantime', async () => {
    const [client] = await toPair();
    const [upstream, inside] = await toPair();
    client.destroy();
    join(client, upstream);
    await once(inside.resume(), 'close');
    expect(upstream.destroyed).toBe(true);
  });

  it('resets the client when the server inside has disconnected in the meantime', async () => {
    const [client, visitor] = await toPair();
    const [upstream] = await toPair();
    upstream.destroy();
    const failed = once(visitor, 'error');
    visitor.resume();
    join(client, upstream);
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
  });
});
