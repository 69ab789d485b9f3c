import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2Session } from 'node:http2';
import type { Socket, Server as TcpServer } from 'node:net';
import { isLoopback, toCountedAddress } from '@skerry/contract/counted-address';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { connectionOf, streamOf } from '../client.ts';
import { firstHeadTimes, limitFirstHead } from '../first-head.ts';
import { answerMalformed } from '../malformed-requests.ts';
import type { ConnectionBounds } from './connection-bounds.ts';

/** Knows of each connection what its requests have shown, so that a caller that shows nothing cannot take those of others. */
export interface ConnectionGuard {
  /**
   * Call this with every request before it is answered. Until `accept`, its connection ends with the answer.
   */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** The connection has been handed over to another protocol, and is under way as long as it lasts. */
  beginUpgrade(request: IncomingMessage): void;
  /**
   * A request has named a sandbox that runs or carried a link for an upload (`routed`), or carried a key (`authorised`): its
   * connection may stay.
   */
  accept(request: IncomingMessage, as: 'routed' | 'authorised'): void;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  underWay: number;
  /** Ends a connection of HTTP/2 that has shown nothing and is not used again. */
  graceTimer?: NodeJS.Timeout;
  /** The answer that is to close the connection, unless `accept` comes first and its request lets the connection stay. */
  closing?: { response: ServerResponse; mayStay: boolean } | undefined;
}

/** The connections without a key, each in the order in which they came. */
interface Keyless {
  unknown: Set<Connection>;
  routed: Set<Connection>;
}
const createKeyless = (): Keyless => ({ unknown: new Set(), routed: new Set() });

/** Clients forget a connection that is unused for less: one that ends before fails their next request. */
const GRACE_MS = 10_000;

export interface GuardOptions {
  bounds: ConnectionBounds;
  /** How long a connection of HTTP/2 without a key may be unused; the default is 10 s. HTTP/1 says with the answer that it ends. */
  graceMs?: number;
  /** What accepts the connections, if that is not the server itself. */
  front?: TcpServer | undefined;
  log: { warn(message: string, fields?: Record<string, unknown>): void };
}

/**
 * Bounds the connections of a server: those that have shown nothing, those without a key, both in all and from one address, and all.
 * When a bound is reached, the server closes the oldest connection with the fewest rights; if there is none, the new one. No connection of a
 * caller with a key ends for another. A connection whose first request does not come in time ends. A connection that sends something other than HTTP gets an error and ends. Addresses of this host, as of a proxy, have no bound of their own.
 */
export const guardConnections = (
  server: Server,
  { bounds, graceMs = GRACE_MS, front = server, log }: GuardOptions,
): ConnectionGuard => {
  const open = new Map<Socket, Connection>();
  const keyless = createKeyless();
  const byAddress = new Map<string, Keyless>();
  const quietLog = createQuietLog({ warn: (message, fields) => log.warn(message, fields) });

  const tell = (message: string, fields: Record<string, unknown>): void =>
    quietLog(message, { open: open.size, ...fields });
  const listsOf = ({ address }: Connection): Keyless[] => {
    const own = byAddress.get(address);
    return own === undefined ? [keyless] : [keyless, own];
  };
  const leaveLists = (connection: Connection): void => {
    for (const { unknown, routed } of listsOf(connection)) {
      unknown.delete(connection);
      routed.delete(connection);
    }
    const own = byAddress.get(connection.address);
    if (own && own.unknown.size + own.routed.size === 0) byAddress.delete(connection.address);
  };
  const end = (connection: Connection): true => {
    open.delete(connection.socket);
    leaveLists(connection);
    connection.socket.resetAndDestroy();
    return true;
  };
  const endOldest = (candidates: Iterable<Connection>): boolean => {
    for (const connection of candidates) return end(connection);
    return false;
  };
  const endOldestIdle = ({ routed, unknown }: Keyless): boolean => {
    if (endOldest(unknown)) return true;
    for (const connection of routed) if (connection.underWay === 0) return end(connection);
    return false;
  };

  /** Whether there is room for one more, perhaps only now. */
  const makeRoom = (address: string, isLocal: boolean): boolean => {
    const own = isLocal ? undefined : byAddress.get(address);
    if (own && own.unknown.size >= bounds.unknownOfAddress) {
      tell('one address has too many connections without a key', { address });
      endOldest(own.unknown);
    } else if (own && own.unknown.size + own.routed.size >= bounds.keylessOfAddress) {
      tell('one address has too many connections', { address });
      return endOldestIdle(own);
    }
    if (keyless.unknown.size >= bounds.unknown) {
      tell('there are too many connections without a key', { address });
      endOldest(keyless.unknown);
    } else if (keyless.unknown.size + keyless.routed.size >= bounds.keyless || open.size >= bounds.all) {
      tell('there are too many connections', { address });
      // The new one may be of a caller with a key, for whom there is room up to `all`.
      return endOldestIdle(keyless) || open.size < bounds.all;
    }
    return true;
  };

  /** Counts a request of the connection until the function that it returns is called. */
  const use = (connection: Connection, session: Http2Session | undefined): (() => void) => {
    connection.underWay += 1;
    clearTimeout(connection.graceTimer);
    return () => {
      connection.underWay -= 1;
      if (session !== undefined && connection.underWay === 0 && keyless.unknown.has(connection))
        connection.graceTimer = setTimeout(() => session.close(), graceMs).unref();
    };
  };

  front.on('connection', (socket: Socket) => {
    const remote = socket.remoteAddress ?? '';
    const [address, isLocal] = [toCountedAddress(remote), isLoopback(remote)];
    if (!makeRoom(address, isLocal)) {
      socket.resetAndDestroy();
      return;
    }
    const connection: Connection = { socket, address, underWay: 0 };
    open.set(socket, connection);
    if (!byAddress.has(address)) byAddress.set(address, createKeyless());
    for (const { unknown } of listsOf(connection)) unknown.add(connection);
    socket.once('close', () => {
      open.delete(socket);
      leaveLists(connection);
    });
  });
  const noteRequest = limitFirstHead(server, firstHeadTimes);
  const noteResponse = answerMalformed(server);
  // Held by Node, should the counts above ever miss one.
  front.maxConnections = bounds.all + 1;

  return {
    begin(request, response) {
      noteRequest(request.socket);
      noteResponse(request.socket, response);
      const connection = open.get(connectionOf(request));
      if (connection === undefined) return;
      const session = streamOf(request)?.session;
      response.once('close', use(connection, session));
      if (session !== undefined || !keyless.unknown.has(connection)) return;
      // False for HTTP/1.0 and for `Connection: close`.
      connection.closing = { response, mayStay: response.shouldKeepAlive };
      response.shouldKeepAlive = false;
    },
    beginUpgrade(request) {
      noteRequest(request.socket);
      const connection = open.get(connectionOf(request));
      if (connection === undefined) return;
      const stream = streamOf(request);
      const isOver = use(connection, stream?.session);
      // A connection of HTTP/1 ends with its upgrade; one of HTTP/2 goes on after the stream.
      stream?.once('close', isOver);
    },
    accept(request, as) {
      const connection = open.get(connectionOf(request));
      if (connection === undefined) return;
      clearTimeout(connection.graceTimer);
      const isUnknown = keyless.unknown.has(connection);
      if (as === 'authorised') leaveLists(connection);
      else if (isUnknown)
        for (const { unknown, routed } of listsOf(connection)) {
          unknown.delete(connection);
          routed.add(connection);
        }
      const { closing } = connection;
      if (closing !== undefined) closing.response.shouldKeepAlive = closing.mayStay;
      connection.closing = undefined;
    },
  };
};
