import { EventEmitter, once } from 'node:events';
import { Agent, createServer, get, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { firstHeadTimes } from '../first-head.ts';
import { edgeServerOptions } from '../server-options.ts';
import { toConnectionBounds } from './connection-bounds.ts';
import { type ConnectionGuard, guardConnections } from './connection-guard.ts';

const bounds = { all: 20, keyless: 12, keylessOfAddress: 8, unknown: 6, unknownOfAddress: 3 };

describe('the bounds of connections', () => {
  class FakeSocket extends EventEmitter {
    isEnded = false;
    readonly remoteAddress: string;
    constructor(remoteAddress: string) {
      super();
      this.remoteAddress = remoteAddress;
    }
    resetAndDestroy(): void {
      this.isEnded = true;
      this.emit('close');
    }
  }
  const createLab = () => {
    const server = new EventEmitter() as EventEmitter & Partial<Server>;
    // The guard looks at its connections until then.
    onTestFinished(() => void server.emit('close'));
    const lines: string[] = [];
    const guard = guardConnections(server as Server, {
      bounds,
      log: { warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
    });
    const open = (address: string): FakeSocket => {
      const socket = new FakeSocket(address);
      server.emit('connection', socket);
      return socket;
    };
    const accept = (socket: FakeSocket, as: 'routed' | 'authorised'): void =>
      guard.accept({ socket } as never, as);
    const begin = (socket: FakeSocket): EventEmitter => {
      const response = new EventEmitter();
      guard.begin({ socket } as never, response as ServerResponse);
      return response;
    };
    return { open, accept, begin, guard, lines, server };
  };
  const ended = (sockets: readonly FakeSocket[]): number[] =>
    sockets.flatMap(({ isEnded }, index) => (isEnded ? [index] : []));

  it.each<[string, (guard: ConnectionGuard, request: { stream: EventEmitter }) => EventEmitter]>([
    [
      'answer',
      (guard, request) => {
        const response = new EventEmitter();
        guard.begin(request as never, response as ServerResponse);
        return response;
      },
    ],
    [
      'WebSocket',
      (guard, request) => {
        guard.beginUpgrade(request as never);
        return request.stream;
      },
    ],
  ])(
    'leave a connection of HTTP/2 that has shown nothing to its client for a while after each %s',
    (_what, begin) => {
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
      const { open, guard } = createLab();
      const socket = open('192.0.2.1');
      const session = { close: vi.fn() };
      const ask = (): void => {
        const stream = Object.assign(new EventEmitter(), { session });
        begin(guard, { socket, stream } as never).emit('close');
      };
      ask();
      vi.advanceTimersByTime(9_000);
      ask();
      vi.advanceTimersByTime(9_000);
      expect(session.close).not.toHaveBeenCalled();
      vi.advanceTimersByTime(2_000);
      expect(session.close).toHaveBeenCalledTimes(1);
    },
  );

  it('end the oldest of an address that has shown nothing, also of the same IPv6 network, and say so once', () => {
    const { open, lines } = createLab();
    const other = open('192.0.2.9');
    const sockets = Array.from({ length: 5 }, (_, n) => open(`2001:db8:0:1::${n + 1}`));
    expect(ended(sockets)).toEqual([0, 1]);
    expect(other.isEnded).toBe(false);
    expect(lines).toEqual([
      'one address has too many connections without a key {"open":4,"address":"2001:db8:0:1::/64"}',
    ]);
  });

  it('end the oldest of all that have shown nothing, however many addresses there are', () => {
    const { open, accept } = createLab();
    const routed = open('198.51.100.1');
    accept(routed, 'routed');
    const sockets = Array.from({ length: 9 }, (_, n) => open(`192.0.2.${n}`));
    expect(ended(sockets)).toEqual([0, 1, 2]);
    expect(routed.isEnded).toBe(false);
  });

  it('count none of this host, as of a proxy, by its address', () => {
    const { open } = createLab();
    expect(ended(Array.from({ length: 6 }, () => open('::ffff:127.0.0.1')))).toEqual([]);
    expect(ended(Array.from({ length: 3 }, () => open('::1')))).toEqual([]);
  });

  it('keep places for callers with a key, which no other caller takes', () => {
    const { open, accept, begin } = createLab();
    const keyed = Array.from({ length: 3 }, () => open('192.0.2.1'));
    for (const socket of keyed) accept(socket, 'authorised');
    // Open the connections of all sandboxes: as many as there may be without a key, each with a request under
    // way.
    const routed = Array.from({ length: 12 }, (_, n) => {
      const socket = open(`192.0.2.${n + 10}`);
      begin(socket);
      accept(socket, 'routed');
      return socket;
    });
    const late = open('192.0.2.200');
    accept(late, 'authorised');
    expect([...ended(keyed), ...ended(routed), late.isEnded]).toEqual([false]);
    // And the places of those with a key are limited, too.
    const more = Array.from({ length: 6 }, () => {
      const socket = open('192.0.2.201');
      accept(socket, 'authorised');
      return socket;
    });
    expect(ended(more)).toEqual([4, 5]);
    expect([...ended(keyed), ...ended(routed), late.isEnded]).toEqual([false]);
  });

  it('end an idle connection to a sandbox for a new one, and one with a request under way for none', () => {
    const { open, accept, begin } = createLab();
    const sockets = Array.from({ length: 8 }, () => {
      const socket = open('192.0.2.7');
      accept(socket, 'routed');
      return socket;
    });
    begin(sockets[0] as FakeSocket);
    begin(sockets[1] as FakeSocket).emit('close');
    const newcomer = open('192.0.2.7');
    expect([ended(sockets), newcomer.isEnded]).toEqual([[1], false]);
  });

  it('follow from the number of descriptors, of which some are always left', () => {
    for (const limit of [1024, 4096, 20_000, 1_048_576]) {
      const { all, keyless, unknown, keylessOfAddress, unknownOfAddress } = toConnectionBounds(limit);
      expect(all * 2).toBeLessThanOrEqual(limit - 256);
      expect([
        keyless < all,
        unknown < keyless,
        keylessOfAddress < keyless,
        unknownOfAddress < unknown,
      ]).toEqual(Array(4).fill(true));
    }
  });
});

describe('a guarded server', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close().closeAllConnections();
  });
  const serve = async (as?: 'routed' | 'authorised') => {
    let guard: ConnectionGuard | undefined;
    server = createServer(edgeServerOptions, (request, response) => {
      guard?.begin(request, response);
      const { 'x-as': given } = request.headers;
      if (as ?? given) guard?.accept(request, as ?? (given as 'routed'));
      response.end('answer');
    });
    guard = guardConnections(server, { bounds, log: { warn: () => undefined } });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const ask = async (port: number, options: { agent?: Agent; headers?: Record<string, string> } = {}) => {
    const [response] = await once(get({ port, host: '127.0.0.1', ...options }), 'response');
    response.resume();
    await once(response, 'end');
    return response.headers.connection as string;
  };

  it('keeps a connection after its request was accepted, and closes it with any other answer', async () => {
    const port = await serve();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await ask(port, { agent })).toBe('close');
    expect(await ask(port, { agent, headers: { 'x-as': 'authorised' } })).toBe('keep-alive');
    // Send it on the same connection now.
    expect(await ask(port, { agent })).toBe('keep-alive');
    agent.destroy();
  });

  it('lets a refused caller read the answer, whose request was still on its way', async () => {
    const port = await serve();
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n');
    await once(socket, 'readable');
    socket.pause();
    const body = Buffer.alloc(1_000_000);
    for (let part = 0; part < 3; part += 1)
      await new Promise((resolve, reject) =>
        socket.write(body, (error) => (error ? reject(error) : setTimeout(resolve, 20))),
      );
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n.*Connection: close\r\n.*answer/s);
  });

  it('answers a caller while others hold all the connections that they can get', async () => {
    const port = await serve('authorised');
    const idle: Socket[] = [];
    for (let n = 0; n < 40; n += 1) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
      await once(socket, 'connect');
      idle.push(socket);
    }
    expect(await ask(port)).toMatch(/./);
    expect(await new Promise((resolve) => server?.getConnections((_, count) => resolve(count)))).toBeLessThan(
      9,
    );
    for (const socket of idle) socket.destroy();
  });

  it('looks every five seconds for connections whose request has not come for ten', () => {
    expect(firstHeadTimes).toEqual({ headMs: 10_000, checkMs: 5_000 });
  });
});
