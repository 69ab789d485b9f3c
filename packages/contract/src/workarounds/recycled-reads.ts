/**
 * Program: Node.js
 * Does: Reads a connection into reused memory, and pushes the chunks to the socket itself.
 * Why not the promised way: A stream allocates for each read, and the garbage collector then marks the whole heap several times in
 * each 100 MiB. Over TLS each read is one record of at most 16 KiB, which would be a write of its own.
 * Source: https://nodejs.org/docs/latest-v24.x/api/net.html#new-netsocketoptions and
 * https://nodejs.org/docs/latest-v24.x/api/tls.html#tlsconnectoptions-callback (`onread`); no document promises that code may push to
 * such a socket.
 * When it no longer fits: A socket that other code pushes to fails the tests; without `onread` Node reads into its own memory.
 * Test: recycled-reads.test.ts
 * Bench row: file.download, cluster.transfer.download
 */
import type { Readable } from 'node:stream';
import type { SocketReader } from '../directory.ts';

/** About the amount that the kernel returns in one read; a smaller buffer needs more reads for each body. */
const slotBytes = 256 * 1024;

/** RFC 8446 (5.1): the most that one record of TLS carries. Reads of this size or less are joined. */
const maxRecordBytes = 16 * 1024;

/** More buffers are allocated when more bodies pass at a time; they are not kept. */
const maxKeptSlots = 16;

/** The shared buffer of all connections without a sink: its content is copied before the next read. */
const scratch = new Uint8Array(64 * 1024);

/** A buffer that is filled from its start, in pieces that are passed on one by one. */
interface Slot {
  readonly bytes: Uint8Array;
  /** The bytes up to here were passed on. */
  passedBytes: number;
  filledBytes: number;
  /** The pieces that still use this memory. */
  users: number;
  /** Nothing more is read into it. */
  isFull: boolean;
}

const freeSlots: Uint8Array[] = [];

const takeSlot = (): Slot => ({
  bytes: freeSlots.pop() ?? new Uint8Array(slotBytes),
  passedBytes: 0,
  filledBytes: 0,
  users: 0,
  isFull: false,
});

const freeUnused = ({ bytes, users, isFull }: Slot): void => {
  if (isFull && users === 0 && freeSlots.length < maxKeptSlots) freeSlots.push(bytes);
};

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
 * Decides where a connection reads to. With a sink, it reads into reused memory, and the chunks go to the sink instead of into the
 * stream. For large bodies this takes a fraction of the time of Node's streams, which allocate for each read, copy in the HTTP
 * parser and leave the buffers to the garbage collector.
 */
export class RecycledReads implements SocketReader {
  sink: PieceSink | undefined;
  /** Whether a connection reads through this. One that is no socket of this process does not. */
  isUsed = false;
  #slot: Slot | undefined;
  #isFlushPlanned = false;
  #isFlushedAtEnd = false;

  nextBuffer(): Uint8Array {
    if (this.sink === undefined) return scratch;
    if (this.#slot?.isFull !== false) this.#slot = takeSlot();
    const { bytes, filledBytes } = this.#slot;
    return filledBytes === 0 ? bytes : bytes.subarray(filledBytes);
  }

  receive(socket: Readable, sizeBytes: number, buffer: Uint8Array): boolean {
    this.isUsed = true;
    const slot = this.#slot;
    if (slot === undefined || buffer === scratch)
      return socket.push(Buffer.from(buffer.subarray(0, sizeBytes)));
    slot.filledBytes += sizeBytes;
    if (this.sink?.isReady() !== true) {
      // A reader of the stream keeps this memory, so it is not reused.
      this.#slot = undefined;
      return socket.push(Buffer.from(buffer.buffer, buffer.byteOffset, sizeBytes));
    }
    slot.isFull = sizeBytes > maxRecordBytes || slotBytes - slot.filledBytes < maxRecordBytes;
    if (slot.isFull) return this.#flush();
    this.#flushSoon(socket);
    return true;
  }

  /** At the end of this turn of the event loop, or of the connection. */
  #flushSoon(socket: Readable): void {
    if (!this.#isFlushedAtEnd) {
      this.#isFlushedAtEnd = true;
      // Before the listeners that take the rest for lost.
      socket.prependOnceListener('end', () => this.#flush());
    }
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => {
      this.#isFlushPlanned = false;
      if (!this.#flush()) socket.pause();
    });
  }

  /** Passes on what was read. Returns false to stop reading until the socket is resumed. */
  #flush(): boolean {
    const { sink } = this;
    const slot = this.#slot;
    if (slot === undefined || sink === undefined || slot.filledBytes === slot.passedBytes) return true;
    const piece = Buffer.from(
      slot.bytes.buffer,
      slot.bytes.byteOffset + slot.passedBytes,
      slot.filledBytes - slot.passedBytes,
    );
    slot.passedBytes = slot.filledBytes;
    slot.users += 1;
    return sink.write(piece, () => {
      slot.users -= 1;
      freeUnused(slot);
    });
  }
}
