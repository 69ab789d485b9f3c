import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 1 << 20;
const MAX_WAIT_MS = 1_000;

/**
 * Reads the rest of a request that has `Connection: close`. If the server closes a socket with unread bytes, TCP
 * resets the connection, and the client loses the response (RFC 9112, 9.6). Waits for a second and for a MiB at most.
 * Does nothing when the body has another reader, and never rejects.
 */
export const drainRequest = (request: IncomingMessage): Promise<void> => {
  const isLast = request.headers.connection?.toLowerCase() === 'close';
  if (!isLast || request.complete || request.destroyed || request.readableFlowing !== null)
    return Promise.resolve();
  return new Promise((resolve) => {
    let sizeBytes = 0;
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(finish, MAX_WAIT_MS);
    request.once('end', finish).once('close', finish).once('error', finish);
    request.on('data', (bytes: Buffer) => {
      sizeBytes += bytes.length;
      if (sizeBytes > MAX_BYTES) finish();
    });
  });
};
