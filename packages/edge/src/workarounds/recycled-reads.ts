/**
 * Does: Reads a connection into reused memory, and pushes the chunks to the socket itself.
 * Why not the promised way: See pass-large-body.ts, which uses this file.
 * Source: https://nodejs.org/docs/latest-v24.x/api/net.html#new-netsocketoptions (`onread`)
 * When it no longer fits: A socket that other code pushes to fails the tests; without `onread` Node reads into its own memory.
 * Test: recycled-reads.test.ts
 * Bench row: file.download
 */
import type { Readable } from 'node:stream';
import type { SocketReader } from '@skerry/contract/directory';

/** About the amount that the kernel returns in one read; a smaller buffer needs more reads for each body. */
const slotBytes = 256 * 1024;

/** More buffers are allocated when more bodies pass at a time; they are not kept. */
const maxKeptSlots = 16;

/** The shared buffer of all connections without a sink: its content is copied before the next read. */
const scratch = new Uint8Array(64 * 1024);

const freeSlots: Uint8Array[] = [];

/** Receives the chunks of a body as they are read. */
export interface PieceSink {
  /** False while earlier chunks are still on another path to the same client. */
  isReady(): boolean;
  /**
   * Takes a chunk and calls `done` when its memory may be reused. Returns false to stop reading until the socket is
   * resumed.
   */
  write(piece: Uint8Array, done: () => void): boolean;
}

/**
 * Decides where a connection to a sandbox reads to. With a sink, it reads into reused memory, and the chunks go to the
 * sink instead of into the stream. For large bodies this takes a fraction of the time of Node's streams, which
 * allocate for each read, copy in the HTTP parser and leave the buffers to the garbage collector.
 */
export class RecycledReads implements SocketReader {
  sink: PieceSink | undefined;
  /** Whether a connection reads through this. One that is no socket of this process does not. */
  isUsed = false;

  nextBuffer(): Uint8Array {
    if (this.sink === undefined) return scratch;
    return freeSlots.pop() ?? new Uint8Array(slotBytes);
  }

  receive(socket: Readable, sizeBytes: number, buffer: Uint8Array): boolean {
    this.isUsed = true;
    const piece = Buffer.from(buffer.buffer, buffer.byteOffset, sizeBytes);
    if (buffer === scratch) return socket.push(Buffer.from(piece));
    // A reader of the stream keeps this memory, so it is not reused.
    if (this.sink?.isReady() !== true) return socket.push(piece);
    return this.sink.write(piece, () => {
      if (freeSlots.length < maxKeptSlots) freeSlots.push(buffer);
    });
  }
}
