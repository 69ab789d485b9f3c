import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Connection, isAllowed, type Judge } from './connection.ts';
import { readHost, toHead, toLines, toPassedHeaders, toPassedTrailers } from './http-head.ts';
import { joinSockets } from './splice.ts';
import { createTurns, type Turns } from './turns.ts';

/** Serves the connections of one sandbox that speak HTTP/1. */
export interface HttpProxy {
  serve(connection: Connection): void;
  close(): void;
}

const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;

type Served = Connection & { agent: Agent; turns: Turns };

/**
 * Passes requests on whose Host the rules allow and whose connection leads to an address of that name. Each is parsed and written anew, so
 * that the server sees the same requests as this check: a connection carries many, for different hosts.
 */
export const createHttpProxy = (judge: Judge): HttpProxy => {
  const connections = new WeakMap<object, Served>();

  const judgeRequest = async (incoming: IncomingMessage): Promise<Served | undefined> => {
    const connection = connections.get(incoming.socket);
    const name = readHost(incoming);
    if (connection === undefined || name === undefined) return undefined;
    return (await isAllowed(judge, connection, name)) ? connection : undefined;
  };

  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const connection = await judgeRequest(incoming);
    if (connection === undefined) {
      refuse(response, 403, 'no rule allows this host at this address');
      return;
    }
    const outgoing = toOutgoing(incoming, connection);
    response.once('close', () => outgoing.destroy());
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      refuse(response, 502, `the server did not answer: ${error.code}`),
    );
    outgoing.on('upgrade', (_, upstream) => {
      upstream.destroy();
      refuse(response, 502, 'the server changed the protocol without being asked');
    });
    outgoing.once('continue', () => response.writeContinue());
    outgoing.on('information', ({ statusCode, statusMessage, rawHeaders }) => {
      // A client that does not read does without.
      if (statusCode !== 103 || incoming.httpVersion === '1.0' || incoming.socket.writableNeedDrain) return;
      incoming.socket.write(`HTTP/1.1 103 ${statusMessage}\r\n${toLines(rawHeaders)}\r\n`, 'latin1');
    });
    outgoing.on(
      'response',
      guard(
        (answer: IncomingMessage) => answerWith(response, answer),
        ({ code }) => refuse(response, 502, `the server's answer is not valid: ${code}`),
      ),
    );
    passTrailers(incoming, outgoing);
    // A failure is reported by the event of the request that it ends.
    pipeline(incoming, outgoing).catch(() => undefined);
  };

  const upgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const connection = await judgeRequest(incoming);
    if (connection === undefined) {
      endWith(socket, 403);
      return;
    }
    const outgoing = toOutgoing(incoming, connection);
    outgoing.on('error', () => socket.destroy());
    outgoing.on('response', (answer) => {
      // The server does not change the protocol. Its answer ends the connection, whose next bytes could be of either one.
      answer.resume();
      socket.end(`${toHead(answer)}Connection: close\r\nContent-Length: 0\r\n\r\n`, 'latin1');
    });
    outgoing.on('upgrade', (answer, upstream, rest) => {
      socket.write(`${toHead(answer)}${toLines(answer.rawHeaders)}\r\n`, 'latin1');
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
  const take = (incoming: IncomingMessage, response: ServerResponse): void =>
    connections.get(incoming.socket)?.turns.take(response, () => {
      pass(incoming, response).catch(({ code }: NodeJS.ErrnoException) =>
        refuse(response, 400, `the request is not valid: ${code}`),
      );
    });
  server.on('request', take);
  server.on('checkContinue', take);
  server.on('upgrade', (incoming, socket, head) => {
    // Behind another request its bytes would mix with the answer to that one.
    if (connections.get(incoming.socket)?.turns.isBusy() !== false) socket.destroy();
    else upgrade(incoming, socket, head).catch(() => endWith(socket, 400));
  });
  return {
    serve: (connection) => {
      const { socket } = connection;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      connections.set(socket, Object.assign(connection, { agent, turns: createTurns(socket) }));
      socket.once('close', () => agent.destroy());
      server.emit('connection', socket);
    },
    // Also ends the timer that looks for slow clients.
    close: () => void server.close(),
  };
};

/** Throws for a request that cannot be written. */
const toOutgoing = (incoming: IncomingMessage, { destination, agent }: Served): ClientRequest =>
  request({
    ...{ host: destination.address, port: destination.port, agent },
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: toPassedHeaders(incoming),
    setHost: false,
  });

/** Throws for an answer whose head cannot be written. */
const answerWith = (response: ServerResponse, answer: IncomingMessage): void => {
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, toPassedHeaders(answer));
  passTrailers(answer, response);
  // A failure has ended both sides.
  pipeline(answer, response).catch(() => undefined);
};

/** Adds the trailers before the end is passed on. Called before the streams are joined. */
const passTrailers = (from: IncomingMessage, to: ClientRequest | ServerResponse): void =>
  void from.once(
    'end',
    guard(
      () => to.addTrailers(toPassedTrailers(from)),
      () => to.destroy(),
    ),
  );

/** An error that a listener throws would end the process, and with it the connections of all sandboxes. */
const guard =
  <T extends unknown[]>(listener: (...args: T) => void, fail: (error: NodeJS.ErrnoException) => void) =>
  (...args: T): void => {
    try {
      listener(...args);
    } catch (error) {
      fail(error as NodeJS.ErrnoException);
    }
  };

/** Answers with an error, and ends the connection. */
const refuse = (response: ServerResponse, status: number, reason: string): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The reason is given again: that of an answer which was not valid would be kept.
  const headers = { 'content-type': 'text/plain', connection: 'close' };
  response.writeHead(status, STATUS_CODES[status], headers).end(`skerry: ${reason}\n`);
};

const endWith = (socket: Duplex, status: number): void =>
  void socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
