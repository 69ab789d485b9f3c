import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LINGER_MS } from './lingering-response.ts';

/** By the code of Node's error; all others get 400. */
const statusOf: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Answers what a server cannot read as a request, and takes the rest of it until the client closes the connection, for at most
 * `LINGER_MS`. Node closes such a connection at once; the kernel then resets it for the bytes that were not read, and the client often
 * loses the answer (RFC 9112, 9.6). A connection whose response is already on the way ends without another answer. Returns what must
 * be called with each response.
 */
export const answerMalformed = (server: Server): ((socket: Socket, response: ServerResponse) => void) => {
  const responses = new WeakMap<Socket, Set<ServerResponse>>();
  const answered = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The parser fails again with each later part.
    if (answered.has(socket)) return;
    const isOnTheWay = [...(responses.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (isOnTheWay || !socket.writable) {
      socket.destroy(error);
      return;
    }
    answered.add(socket);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.end(`HTTP/1.1 ${statusOf[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  });
  return (socket, response) => {
    const open = responses.get(socket) ?? new Set();
    responses.set(socket, open.add(response));
    response.once('close', () => open.delete(response));
  };
};
