import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';

/** The bytes of the bodies of an exchange until now, without what TLS and the framing of HTTP add. */
export interface BodyBytes {
  received: number;
  sent: number;
}

/** Counts what passes between a request and its answer, or in both directions of an upgraded connection, without reading any of it. */
export const countBodyBytes = (request: IncomingMessage, answer: ServerResponse | Duplex): BodyBytes => {
  const bytes: BodyBytes = { received: 0, sent: 0 };
  countPushed('statusCode' in answer ? request : answer, (count) => {
    bytes.received += count;
  });
  // Node sends no body after the head of this method.
  if (request.method !== 'HEAD')
    countWritten(answer, (count) => {
      bytes.sent += count;
    });
  return bytes;
};

/** Counts at `push`, since a listener of `data` would begin to read. */
const countPushed = (readable: Readable, add: (count: number) => void): void => {
  const push = readable.push.bind(readable);
  readable.push = (chunk: unknown, encoding?: BufferEncoding) => {
    add(sizeOf(chunk, encoding));
    return push(chunk, encoding);
  };
};

const countWritten = (writable: Writable, add: (count: number) => void): void => {
  const write = writable.write.bind(writable) as (...args: unknown[]) => boolean;
  const end = writable.end.bind(writable) as (...args: unknown[]) => Writable;
  let isEnding = false;
  writable.write = (...args: unknown[]) => {
    if (!isEnding) add(sizeOf(args[0], args[1]));
    return write(...args);
  };
  writable.end = ((...args: unknown[]) => {
    add(sizeOf(args[0], args[1]));
    // Responses of HTTP/2 call `write` here.
    isEnding = true;
    const ended = end(...args);
    isEnding = false;
    return ended;
  }) as Writable['end'];
};

const sizeOf = (chunk: unknown, encoding: unknown): number => {
  if (typeof chunk === 'string')
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};
