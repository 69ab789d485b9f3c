import type { Socket } from 'node:net';

/** Messages of DNS over TCP: each has its length before it (RFC 1035, 4.2.2). */

/** Writes a message with its length. */
export const toFrame = (message: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

/** Calls `take` with each message of a connection, and ends it at a longer one. Keeps at most one, and what came with its end. */
export const readFrames = (
  socket: Socket,
  { maxBytes }: { maxBytes: number },
  take: (message: Buffer) => void,
): void => {
  let parts: Buffer[] = [];
  let count = 0;
  socket.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    count += chunk.length;
    for (;;) {
      if (count < 2) return;
      const head = parts[0] as Buffer;
      const isSplit = head.length < 2;
      const length = isSplit ? ((head[0] as number) << 8) | (parts[1]?.[0] ?? 0) : head.readUInt16BE(0);
      if (length > maxBytes) {
        socket.destroy();
        return;
      }
      if (count < 2 + length) return;
      const whole = parts.length === 1 ? head : Buffer.concat(parts);
      const rest = whole.subarray(2 + length);
      parts = rest.length > 0 ? [rest] : [];
      count = rest.length;
      take(whole.subarray(2, 2 + length));
      if (socket.destroyed) return;
    }
  });
};
