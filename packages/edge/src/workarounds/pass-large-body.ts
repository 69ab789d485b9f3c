/**
 * Does: Takes the rest of a large body off the connection behind the back of Node's HTTP parser, which has read its head.
 * Why not the promised way: A stream of the parser allocates for each read and copies each piece; the garbage collector then marks
 * the whole heap several times in each 100 MiB.
 * Source: https://nodejs.org/docs/latest-v24.x/api/net.html#new-netsocketoptions (`onread`); that the parser reads what is pushed
 * to a socket with `onread` as 'data' is promised nowhere.
 * When it no longer fits: Bodies would be incomplete, which the tests see; without this all passes through the parser.
 * Test: ../streams.test.ts
 * Bench row: file.download
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PieceSink, RecycledReads } from './recycled-reads.ts';

/** Below this a new connection, which the next request needs then, costs more than is won. */
const minLargeBytes = 1024 * 1024;

/** The length of the body of an answer that `passLargeBody` is for, else undefined. */
export const largeBodyBytes = (answer: IncomingMessage): number | undefined => {
  const sizeBytes = Number(answer.headers['content-length'] ?? 0);
  return sizeBytes >= minLargeBytes && answer.statusCode !== 304 ? sizeBytes : undefined;
};

/**
 * Passes a body of known length from the connection to the client without the HTTP parser, which has seen the head and
 * whatever came with it. The parser misses the rest, so the connection carries no further request. A connection that breaks
 * before is told by an `error` of the answer as ever.
 */
export const passLargeBody = (
  answer: IncomingMessage,
  response: ServerResponse,
  { reader, sizeBytes }: { reader: RecycledReads; sizeBytes: number },
): void => {
  const { socket } = answer;
  let restBytes = sizeBytes;
  answer.on('data', (piece: Buffer) => {
    restBytes -= piece.length;
    response.write(piece);
  });
  answer.once('end', () => {
    reader.sink = undefined;
    response.end();
  });
  const sink: PieceSink = {
    // From the first piece that goes here on nothing else fills these two, so it stays so.
    isReady: () => answer.readableLength === 0 && socket.readableLength === 0,
    write(piece, done) {
      // More than was announced is not passed on.
      const goesOn = response.write(piece.subarray(0, restBytes), done);
      restBytes -= Math.min(restBytes, piece.length);
      if (restBytes > 0) return goesOn;
      reader.sink = undefined;
      response.end();
      socket.destroy();
      return false;
    },
  };
  reader.sink = sink;
  response.on('drain', () => {
    // A connection that goes on after a body which the parser saw whole may be another request's by now.
    if (reader.sink === sink) socket.resume();
  });
};
