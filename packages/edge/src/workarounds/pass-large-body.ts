/**
 * Program: Node.js
 * Does: Takes the rest of a large body from the connection, past Node's HTTP parser, which has parsed its head.
 * Why not the promised way: A stream of the parser allocates for each read and copies each chunk; the garbage collector then marks
 * the whole heap several times in each 100 MiB.
 * Source: https://nodejs.org/docs/latest-v24.x/api/net.html#new-netsocketoptions (`onread`); no document promises that the parser
 * reads what is pushed to a socket with `onread` as 'data'.
 * When it no longer fits: Bodies would be incomplete, which the tests detect; without this file every body passes the parser.
 * Test: pass-large-body.test.ts
 * Bench row: file.download
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PieceSink, RecycledReads } from '@skerry/contract/recycled-reads';

/** A smaller body saves less than the new connection costs that the next request then needs. */
const minLargeBytes = 1024 * 1024;

/** The length of a response body that `passLargeBody` accepts, else undefined. */
export const largeBodyBytes = (answer: IncomingMessage): number | undefined => {
  const sizeBytes = Number(answer.headers['content-length'] ?? 0);
  return sizeBytes >= minLargeBytes && answer.statusCode !== 304 ? sizeBytes : undefined;
};

/**
 * Forwards a body of known length from the connection to the client without the HTTP parser, which has parsed the head
 * and the first bytes. The parser misses the rest, so the connection carries no further request. A connection that
 * breaks earlier emits an `error` on the response, as without this function.
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
    // Only the code below writes to these two streams after the first chunk, so their state stays valid.
    isReady: () => answer.readableLength === 0 && socket.readableLength === 0,
    write(piece, done) {
      // Bytes beyond the announced length are dropped.
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
    // After a body that the parser saw whole, the connection may already serve another request.
    if (reader.sink === sink) socket.resume();
  });
};
