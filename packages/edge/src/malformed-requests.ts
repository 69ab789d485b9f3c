import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LINGER_MS } from './lingering-response.ts';

export const TOO_LATE = '408 Request Timeout';

/** The status for each code of Node's errors. Every other code gets 400. */
const statusOf: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: TOO_LATE,
};

/** What a connection receives that ends without a response of a handler. */
export const toLastAnswer = (status: string): string => `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;

/**
 * Answers what a server cannot read as a request, and takes the rest of it until the client closes the connection, for at most
 * `LINGER_MS`. Node closes such a connection at once; the kernel then resets it for the bytes that were not read, and the client often
 * loses the answer (RFC 9112, 9.6). A request that comes too late gets 408, and its connection closes at once. A connection ends without
 * another answer once the head of a response was made. Returns what must be called with each response.
 */
export const answerMalformed = (server: Server): ((socket: Socket, response: ServerResponse) => void) => {
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const answered = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The parser fails again with each later part.
    if (answered.has(socket)) return;
    const responses = [...(open.get(socket) ?? [])];
    if (!socket.writable || responses.some(({ headersSent }) => headersSent)) {
      socket.destroy(error);
      return;
    }
    answered.add(socket);
    const status = statusOf[error.code ?? ''] ?? '400 Bad Request';
    socket.end(toLastAnswer(status));
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      // The parser has not failed: the rest would be a request, whose answer the client does not get.
      socket.destroySoon();
      return;
    }
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    // The connection is not read while the body of a request waits for its reader.
    for (const { req } of responses) {
      req.unpipe();
      req.resume();
    }
  });
  return (socket, response) => {
    const responses = open.get(socket) ?? new Set();
    open.set(socket, responses.add(response));
    response.once('close', () => responses.delete(response));
  };
};
