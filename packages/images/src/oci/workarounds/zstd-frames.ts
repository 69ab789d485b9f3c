/**
 * Program: Node.js
 * Does: Decompresses all frames of a zstd stream, as tools write them that compress each file, or each core's part, alone.
 * Why not the promised way: `createZstdDecompress` stops after the first frame of each piece that it gets and drops the rest of it.
 * Source: https://github.com/nodejs/node/issues/64741
 * When it no longer fits: `bytesWritten` counts all bytes, so that one decoder reads everything.
 * Test: zstd-frames.test.ts
 */
import { Duplex } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';

/** A stream that decompresses; each of its pieces has at most `chunkSize` bytes. */
export const createZstdDecoder = ({ chunkSize }: { chunkSize: number }): Duplex =>
  Duplex.from((source: AsyncIterable<Buffer>) => decode(source[Symbol.asyncIterator](), chunkSize));

async function* decode(pieces: AsyncIterator<Buffer>, chunkSize: number): AsyncGenerator<Buffer> {
  let { done = false, value: rest = Buffer.alloc(0) } = await pieces.next();
  while (!done) {
    const decoder = createZstdDecompress({ chunkSize });
    /** Gives it pieces until a frame ends in one; resolves with what follows there. */
    const feed = async (): Promise<Buffer> => {
      for (let givenBytes = 0, piece = rest; ; ) {
        givenBytes += piece.length;
        await new Promise<void>((resolve) => void decoder.write(piece, () => resolve()));
        const unread = givenBytes - decoder.bytesWritten;
        if (unread > 0) return piece.subarray(piece.length - unread);
        const next = await pieces.next();
        done = next.done ?? false;
        if (done) {
          decoder.end();
          return Buffer.alloc(0);
        }
        piece = next.value;
      }
    };
    const feeding = feed();
    feeding.catch((error: unknown) => decoder.destroy(error as Error));
    try {
      for await (const piece of decoder) yield piece as Buffer;
      rest = await feeding;
    } finally {
      decoder.destroy();
    }
  }
}
