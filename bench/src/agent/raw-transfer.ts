import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Endpoint } from './agent.ts';

const buffer = Buffer.alloc(1024 * 1024);
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * GET of a body of known length, counted and dropped. It uses the socket directly: otherwise a client slower than the
 * server would determine the figure.
 */
export async function download(
  { socketPath, headers }: Endpoint,
  { path, sizeBytes }: { path: string; sizeBytes: number },
): Promise<void> {
  let head = '';
  let bodyBytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({
    path: socketPath,
    onread: {
      buffer,
      callback(count) {
        if (head.endsWith('\r\n\r\n')) bodyBytes += count;
        else {
          const text = head + buffer.toString('latin1', 0, Math.min(count, MAX_HEAD_BYTES));
          const end = text.indexOf('\r\n\r\n');
          if (end !== -1) bodyBytes = count - (end + 4 - head.length);
          head = end === -1 ? text : text.slice(0, end + 4);
        }
        if (bodyBytes >= sizeBytes) resolve();
        return true;
      },
    },
  });
  socket
    .once('error', reject)
    .once('close', () => reject(new Error(`${bodyBytes} of ${sizeBytes} bytes\n${head}`)));
  socket.write(toHead(`GET ${path}`, headers));
  try {
    await promise;
  } finally {
    socket.destroy();
  }
  checkStatus(head);
}

/** Sends `sizeBytes` of arbitrary bytes and waits for the response. */
export async function upload(
  { socketPath, headers }: Endpoint,
  { method, path, sizeBytes }: { method: string; path: string; sizeBytes: number },
): Promise<void> {
  const socket = connect({ path: socketPath });
  const answer = firstChunk(socket);
  const length = { 'Content-Length': String(sizeBytes), 'Content-Type': 'application/octet-stream' };
  socket.write(toHead(`${method} ${path}`, { ...headers, ...length }));
  try {
    for (let sent = 0; sent < sizeBytes; sent += buffer.length) {
      const piece = buffer.subarray(0, Math.min(buffer.length, sizeBytes - sent));
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), answer]);
    }
    checkStatus(await answer);
  } finally {
    socket.destroy();
  }
}

async function firstChunk(socket: Socket): Promise<string> {
  const [chunk] = (await Promise.race([
    once(socket, 'data'),
    once(socket, 'close').then(() => Promise.reject(new Error('the connection was closed'))),
  ])) as [Buffer];
  return String(chunk);
}

const toHead = (request: string, headers: Record<string, string>): string =>
  `${request} HTTP/1.1\r\nHost: sandbox\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

function checkStatus(head: string): void {
  if (!/^HTTP\/1\.1 20[0-9] /.test(head)) throw new Error(`the response was ${head.slice(0, 300)}`);
}
