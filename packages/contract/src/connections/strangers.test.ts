import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { createQuietLog } from './quiet-log.ts';
import { boundStrangers, type StrangerBounds } from './strangers.ts';

const servers: Server[] = [];
const opened: Socket[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const socket of opened.splice(0)) socket.destroy();
});

const listen = async (bounds: Partial<StrangerBounds>) => {
  const lines: { message: string; open?: unknown; omitted?: unknown }[] = [];
  const inside: Socket[] = [];
  const strangers = boundStrangers('the port for tests', {
    bounds: { all: 100, ofAddress: 100, timeoutMs: 60_000, ...bounds },
    log: createQuietLog({ warn: (message, fields) => lines.push({ message, ...fields }) }),
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    strangers.add(socket);
    inside.push(socket);
    opened.push(socket);
  }).listen(0);
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  /** Connects from an address of this host; the returned sockets are in the order of the server. */
  const dial = async (count: number, localAddress = '127.0.0.1'): Promise<Socket[]> => {
    const sockets: Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
      sockets.push(socket);
      opened.push(socket);
      socket.resume();
      await once(socket, 'connect');
    }
    await expect.poll(() => inside.length).toBeGreaterThanOrEqual(sockets.length);
    return sockets;
  };
  return { dial, inside, lines, strangers };
};
const areOpen = (sockets: Socket[]): boolean[] => sockets.map(({ destroyed }) => !destroyed);

it('ends the oldest connection when there are too many, and tells so once', async () => {
  const { dial, lines } = await listen({ all: 3 });
  const sockets = await dial(6);
  await expect.poll(() => areOpen(sockets)).toEqual([false, false, false, true, true, true]);
  expect(lines).toEqual([
    {
      message: 'there are too many unidentified connections to the port for tests',
      address: '::ffff:127.0.0.1',
      open: 3,
    },
  ]);
});

it('bounds each address below the bound of all', async () => {
  const { dial, lines } = await listen({ all: 4, ofAddress: 2 });
  const other = await dial(2, '127.0.0.2');
  const many = await dial(4, '127.0.0.3');
  await expect.poll(() => areOpen(many)).toEqual([false, false, true, true]);
  expect(areOpen(other)).toEqual([true, true]);
  expect(lines.map(({ message }) => message)).toEqual([
    'one address has too many unidentified connections to the port for tests',
  ]);
});

it('counts and ends none that was accepted, and makes room for others when one closes', async () => {
  const { dial, inside, strangers, lines } = await listen({ all: 2, timeoutMs: 300 });
  const accepted = await dial(2);
  for (const socket of inside) strangers.accept(socket);
  const [closed] = await dial(1);
  const before = inside.at(-1) as Socket;
  closed?.end();
  await once(before, 'close');
  const [silent] = await dial(2);
  expect(lines).toEqual([]);
  await expect.poll(() => areOpen([silent as Socket])).toEqual([false]);
  expect(areOpen(accepted)).toEqual([true, true]);
  expect(lines.map(({ message }) => message)).toEqual([
    'connections to the port for tests were not identified in time',
  ]);
});

it('ends a connection that sends without showing anything, at its time', async () => {
  const { dial } = await listen({ timeoutMs: 300 });
  const [socket] = await dial(1);
  for (let part = 0; part < 20 && socket?.destroyed === false; part += 1) {
    socket.write('x');
    await sleep(50);
  }
  expect(areOpen([socket as Socket])).toEqual([false]);
});
