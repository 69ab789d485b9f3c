import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reset } from './upstream.ts';

/** A stream of the Connect protocol, in either of its codecs. */
const streamType = /^application\/connect\+(json|proto)/i;

// An envelope: flags, the size of its content as 4 bytes with the highest first, the content.
const HEAD_BYTES = 5;
const END_FLAG = 0x02;

/** The last envelope, which is JSON in both codecs. Clients take this code for the end of the sandbox. */
const content = Buffer.from('{"error":{"code":"unavailable","message":"The sandbox was not found"}}');
const lastEnvelope = Buffer.concat([Buffer.from([END_FLAG, 0, 0, 0, content.length]), content]);

/** How long a client may take for the rest of a stream whose sandbox has ended. */
const LAST_MS = 5_000;

/**
 * Follows the envelopes of a stream from the agent. Returns a function that ends the stream with an error when its sandbox has ended,
 * and whether it could: not in the middle of an envelope. Some clients report a connection that breaks within a body as a broken
 * connection, and do not ask whether the sandbox is there. Undefined for an answer that is no stream.
 */
export const followStream = (
  answer: IncomingMessage,
  response: ServerResponse,
  client: Socket,
): (() => boolean) | undefined => {
  if (!streamType.test(answer.headers['content-type'] ?? '')) return undefined;
  const head = Buffer.alloc(HEAD_BYTES);
  let headBytes = 0;
  let contentBytes = 0;
  let isLast = false;
  answer.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; ) {
      if (contentBytes === 0) {
        const copied = chunk.copy(head, headBytes, at, at + HEAD_BYTES - headBytes);
        headBytes += copied;
        at += copied;
        if (headBytes < HEAD_BYTES) break;
        contentBytes = head.readUInt32BE(1);
        isLast = ((head[0] ?? 0) & END_FLAG) !== 0;
        headBytes = 0;
      }
      const taken = Math.min(contentBytes, chunk.length - at);
      contentBytes -= taken;
      at += taken;
    }
  });
  return () => {
    if (headBytes + contentBytes > 0 || isLast || response.writableEnded || response.destroyed) return false;
    answer.unpipe(response);
    response.end(lastEnvelope);
    const late = setTimeout(() => reset(client), LAST_MS).unref();
    response.once('close', () => clearTimeout(late));
    return true;
  };
};
