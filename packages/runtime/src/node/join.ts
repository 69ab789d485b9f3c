import type { Duplex } from 'node:stream';
import { notePassed } from '@skerry/contract/passing-buffers';
import type { PieceSink, RecycledReads } from '@skerry/contract/recycled-reads';

/** How far one side may be ahead of the other: TLS finishes each write in a later turn of the event loop, however fast that side is. */
export const maxAheadBytes = 256 * 1024;

/** The size from which a connection gets a buffer of its own, whose memory is used again. */
const minRecycledBytes = 16 * 1024;

/**
 * Joins two connections: bytes and the end of each half pass from one to the other. What breaks one breaks the other, and both are
 * closed in the end. `reader`: the one with which the second was opened.
 */
export const join = (
  one: Duplex,
  { stream: other, reader }: { stream: Duplex; reader?: RecycledReads },
): void => {
  passEnd(one, other);
  passEnd(other, one);
  passInBatches(one, other);
  if (reader === undefined) passInBatches(other, one);
  else passRecycled(other, one, reader);
};

const passEnd = (from: Duplex, to: Duplex): void => {
  from.on('error', () => to.destroy());
  from.once('end', () => to.end());
  from.once('close', () => {
    if (from.readableEnded && !to.writableFinished) to.once('finish', () => to.destroy());
    else to.destroy();
  });
};

/** Writes what arrives in one turn of the event loop together: TLS delivers records of at most 16 KiB. */
const passInBatches = (from: Duplex, to: Duplex): void => {
  from.on('data', (piece: Buffer) => {
    notePassed(piece);
    if (to.writableCorked === 0) {
      to.cork();
      setImmediate(() => to.uncork());
    }
    if (!takesMore(to, to.write(piece))) from.pause();
  });
  to.on('drain', () => from.resume());
};

/** Reads large pieces into memory that is used again. */
const passRecycled = (from: Duplex, to: Duplex, reader: RecycledReads): void => {
  const sink: PieceSink = {
    isReady: () => from.readableLength === 0,
    write: (piece, done) => {
      if (piece.length < minRecycledBytes) reader.sink = undefined;
      return takesMore(to, to.write(piece, done));
    },
  };
  from.on('data', (piece: Buffer) => {
    if (piece.length >= minRecycledBytes) reader.sink = sink;
    if (!takesMore(to, to.write(piece))) from.pause();
  });
  to.on('drain', () => from.resume());
};

/** `isBelowMark`: what the write returned. Only after false is there a 'drain'. */
const takesMore = (to: Duplex, isBelowMark: boolean): boolean =>
  isBelowMark || to.writableLength < maxAheadBytes;
