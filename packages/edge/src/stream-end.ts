import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { type Client, reset } from './client.ts';

/** A stream of the Connect protocol, in either of its codecs. */
const streamType = /^application\/connect\+(json|proto)/i;

// An envelope: flags, the size of its content as 4 bytes with the highest first, the content.
const HEAD_BYTES = 5;
const END_FLAG = 0x02;

/** The agent sends output in pieces of 32 KiB, which base64 makes a third larger. */
const MAX_HELD_BYTES = 64 * 1024;

/** The last envelope, which is JSON in both codecs. Clients take this code for the end of the sandbox. */
const content = Buffer.from('{"error":{"code":"unavailable","message":"The sandbox was not found"}}');
const lastEnvelope = Buffer.concat([Buffer.from([END_FLAG, 0, 0, 0, content.length]), content]);

/** How long a client may take for the rest of a stream whose sandbox has ended. */
const LAST_MS = 5_000;

/**
 * Passes the envelopes of a stream on, each when it is complete, so that the stream can end behind it. One that is too large to be
 * held passes in pieces.
 */
class WholeEnvelopes extends Transform {
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #held: Buffer | undefined;
  #heldBytes = 0;
  /** The rest of an envelope that passes in pieces. */
  #passingBytes = 0;
  #hasEnded = false;

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    const begin = this.#headBytes > 0 || this.#held !== undefined ? this.#hold(chunk) : 0;
    let at = begin;
    while (at < chunk.length) {
      if (this.#passingBytes > 0) {
        const passing = Math.min(this.#passingBytes, chunk.length - at);
        this.#passingBytes -= passing;
        at += passing;
        continue;
      }
      const left = chunk.length - at;
      const size = left < HEAD_BYTES ? 0 : HEAD_BYTES + chunk.readUInt32BE(at + 1);
      if (left < HEAD_BYTES || (size > left && size <= MAX_HELD_BYTES)) break;
      this.#noteFlags(chunk[at]);
      this.#passingBytes = size;
    }
    if (at > begin) this.push(chunk.subarray(begin, at));
    if (at < chunk.length) this.#hold(chunk.subarray(at));
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#headBytes > 0) this.push(this.#head.subarray(0, this.#headBytes));
    if (this.#held !== undefined) this.push(this.#held.subarray(0, this.#heldBytes));
    done();
  }

  /** Ends the stream with an error in the place of an incomplete envelope. Returns whether it could. */
  endWithError(): boolean {
    if (this.#passingBytes > 0 || this.#hasEnded || this.writableEnded) return false;
    this.#headBytes = 0;
    this.#held = undefined;
    this.end(lastEnvelope);
    return true;
  }

  /** Copies what belongs to the incomplete envelope, and passes the envelope on when it is complete. Returns the number of bytes. */
  #hold(piece: Buffer): number {
    let taken = 0;
    if (this.#held === undefined) {
      taken = piece.copy(this.#head, this.#headBytes);
      this.#headBytes += taken;
      if (this.#headBytes < HEAD_BYTES) return taken;
      this.#headBytes = 0;
      const size = HEAD_BYTES + this.#head.readUInt32BE(1);
      if (size > MAX_HELD_BYTES) {
        this.#noteFlags(this.#head[0]);
        this.push(Buffer.from(this.#head));
        this.#passingBytes = size - HEAD_BYTES;
        return taken;
      }
      // A copy: a slice of each chunk would keep the whole chunk.
      this.#held = Buffer.allocUnsafe(size);
      this.#heldBytes = this.#head.copy(this.#held);
    }
    const copied = piece.copy(this.#held, this.#heldBytes, taken);
    this.#heldBytes += copied;
    if (this.#heldBytes === this.#held.length) {
      this.#noteFlags(this.#held[0]);
      this.push(this.#held);
      this.#held = undefined;
    }
    return taken + copied;
  }

  #noteFlags(flags = 0): void {
    this.#hasEnded = (flags & END_FLAG) !== 0;
  }
}

/**
 * Passes a stream from the agent on. Returns a function that ends it with an error when its sandbox has ended, and whether it could.
 * Some clients report a connection that breaks within a body as a broken connection, and do not ask whether the sandbox is there.
 * Undefined for an answer that is no stream, which is not passed on.
 */
export const passStream = (
  answer: IncomingMessage,
  response: ServerResponse,
  client: Client,
): (() => boolean) | undefined => {
  if (!streamType.test(answer.headers['content-type'] ?? '')) return undefined;
  const envelopes = new WholeEnvelopes({ highWaterMark: 16 * 1024 });
  answer.pipe(envelopes).pipe(response);
  return () => {
    if (response.writableEnded || response.destroyed) return false;
    answer.unpipe(envelopes);
    if (!envelopes.endWithError()) return false;
    const late = setTimeout(() => reset(client), LAST_MS).unref();
    response.once('close', () => clearTimeout(late));
    return true;
  };
};
