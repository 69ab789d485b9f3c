import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Connection, isAllowed, type Judge } from './connection.ts';
import { joinSockets } from './splice.ts';

/** Serves the connections of one sandbox that speak HTTP/1. */
export interface HttpProxy {
  serve(connection: Connection): void;
  close(): void;
}

const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;

/**
 * Passes requests on whose Host the rules allow and whose connection leads to an address of that name. Each is parsed and written anew, so
 * that the server sees the same requests as this check: a connection carries many, for different hosts.
 */
export const createHttpProxy = (judge: Judge): HttpProxy => {
  const connections = new WeakMap<object, Connection & { agent: Agent }>();

  const judgeRequest = async (
    incoming: IncomingMessage,
  ): Promise<(Connection & { agent: Agent }) | undefined> => {
    const connection = connections.get(incoming.socket);
    const name = readHost(incoming);
    if (connection === undefined || name === undefined) return undefined;
    return (await isAllowed(judge, connection, name)) ? connection : undefined;
  };

  const toOutgoing = (incoming: IncomingMessage, { destination, agent }: Connection & { agent: Agent }) =>
    request({
      ...{ host: destination.address, port: destination.port, agent },
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers: incoming.rawHeaders,
      setHost: false,
    });

  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const connection = await judgeRequest(incoming);
    if (connection === undefined) {
      refuse(response, 403, 'no rule allows this host at this address');
      return;
    }
    const outgoing = toOutgoing(incoming, connection);
    response.once('close', () => outgoing.destroy());
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (!response.headersSent) refuse(response, 502, `the server did not answer: ${error.code}`);
      else response.destroy();
    });
    outgoing.on('continue', () => response.writeContinue());
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
      answer.once('end', () => response.addTrailers(toPairs(answer.rawTrailers)));
      // A failure has ended both sides.
      pipeline(answer, response).catch(() => undefined);
    });
    // A failure is reported by the event of the request that it ends.
    pipeline(incoming, outgoing).catch(() => undefined);
  };

  const upgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const connection = await judgeRequest(incoming);
    if (connection === undefined) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const outgoing = toOutgoing(incoming, connection);
    outgoing.on('error', () => socket.destroy());
    outgoing.on('response', (answer) => {
      // The server does not change the protocol. Its answer ends the connection, whose next bytes could be of either one.
      answer.resume();
      socket.end(`${toHead(answer)}Connection: close\r\nContent-Length: 0\r\n\r\n`);
    });
    outgoing.on('upgrade', (answer, upstream, rest) => {
      socket.write(`${toHead(answer)}${toLines(answer.rawHeaders)}\r\n`);
      socket.write(rest);
      upstream.write(head);
      joinSockets(socket as Socket, upstream as Socket);
    });
    outgoing.end();
  };

  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    // A body may take as long as it takes.
    requestTimeout: 0,
    connectionsCheckingInterval: HEADERS_TIMEOUT_MS / 2,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  // Node begins to look for slow clients when a server listens; this one is only given connections.
  server.emit('listening');
  server.on('request', (incoming, response) => void pass(incoming, response));
  server.on('checkContinue', (incoming, response) => void pass(incoming, response));
  server.on('upgrade', (incoming, socket, head) => void upgrade(incoming, socket, head));
  return {
    serve: (connection) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      connections.set(connection.socket, Object.assign(connection, { agent }));
      connection.socket.once('close', () => agent.destroy());
      server.emit('connection', connection.socket);
    },
    // Also ends the timer that looks for slow clients.
    close: () => void server.close(),
  };
};

/**
 * Returns the name in the Host of a request. Undefined where there is not exactly one, and where the target of the request has another:
 * servers differ in which of them they take.
 */
const readHost = ({ rawHeaders, url = '' }: IncomingMessage): string | undefined => {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host',
  );
  if (hosts.length !== 1 || !(url.startsWith('/') || url === '*')) return undefined;
  return /^([^:@/\s]+)(?::\d{1,5})?$/.exec(hosts[0] ?? '')?.[1];
};

const refuse = (response: ServerResponse, status: number, reason: string): void => {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  response.end(`skerry: ${reason}\n`);
};

const toHead = ({ statusCode, statusMessage }: IncomingMessage): string =>
  `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;

const toPairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []));

const toLines = (raw: readonly string[]): string =>
  toPairs(raw)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
