/**
 * Program: Node.js
 * Does: Reads the number of a connection's descriptor from `socket._handle.fd`, and has the kernel send a file to it.
 * Why not the promised way: Node has no sendfile(2), and no other way to the descriptor of a socket. Copying each piece
 * through this process takes twice the processor time.
 * Source: https://github.com/nodejs/node/blob/v24.x/src/stream_base.cc (`GetFD`), sendfile(2)
 * When it no longer fits: Without the number the file goes piece by piece, as for HTTP/2.
 * Test: send-file.test.ts
 * Bench row: agent.download
 */
import { closeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { duplicateFd, sendfile, setSendBuffer, waitUntilWritable } from '../../../system/libc.ts';
import { sendBytes, write } from '../../send-bytes.ts';

/** Goes the usual way: with the headers, and whenever a reader is slow, since Node then tells when it has room. */
const PIECE_BYTES = 64 * 1024;
/** The most that one call moves, so that the end of a connection is noticed between two. */
const MAX_CALL_BYTES = 64 * 1024 * 1024;
/** What fits into the connection's buffer takes one change of threads. The usual one is a fifth of this. */
const SEND_BUFFER_BYTES = 512 * 1024;
/** Takes a thread of the pool, so only for as long as a reader that keeps up needs. */
const WAIT_MS = 20;
/** Files at the same time: they share few threads with everything else, and koffi has room for 16 calls. */
const MAX_UNDER_WAY = 16;

let underWay = 0;

/** Node has no other way to the descriptor of a socket. */
const fdOf = ({ socket }: ServerResponse): number | undefined => {
  const handle = (socket as { _handle?: { fd?: number } | null } | null)?._handle;
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
};

/**
 * Sends bytes as `sendBytes`, with the kernel moving them from the file to the connection where it can: over HTTP/1.1, for a response
 * whose length is known. Takes half the processor time of `sendBytes`.
 */
export const sendFile = async (
  file: FileHandle,
  res: ServerResponse,
  { start, sizeBytes }: { start: number; sizeBytes: number },
): Promise<number> => {
  if (res.req.httpVersionMajor !== 1 || sizeBytes <= PIECE_BYTES || underWay >= MAX_UNDER_WAY)
    return sendBytes(file, res, { start, sizeBytes });
  underWay += 1;
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let sentBytes = 0;
  let socketFd: number | undefined;
  try {
    while (sentBytes < sizeBytes) {
      const wanted = Math.min(PIECE_BYTES, sizeBytes - sentBytes);
      const { bytesRead } = await file.read(buffer, 0, wanted, start + sentBytes);
      if (bytesRead === 0) break;
      // Nothing of Node's is on its way any more when this resolves.
      await write(res, buffer.subarray(0, bytesRead));
      sentBytes += bytesRead;
      const fd = fdOf(res);
      if (fd === undefined) continue;
      // A descriptor of our own: when the connection is closed meanwhile, its number may belong to another file at once.
      if (socketFd === undefined) {
        socketFd = duplicateFd(fd);
        setSendBuffer(socketFd, SEND_BUFFER_BYTES);
      }
      // Twice nothing, with room in between: a file that the kernel cannot send from goes piece by piece.
      for (let stalls = 0; stalls < 2 && sentBytes < sizeBytes && res.socket?.destroyed === false; ) {
        const count = Math.min(MAX_CALL_BYTES, sizeBytes - sentBytes);
        const moved = await sendfile(socketFd, file.fd, { offset: start + sentBytes, count });
        if (moved > 0) {
          sentBytes += moved;
          stalls = 0;
        } else {
          stalls += 1;
          if (moved === 0 || !(await waitUntilWritable(socketFd, WAIT_MS))) break;
        }
      }
    }
  } finally {
    underWay -= 1;
    if (socketFd !== undefined) closeSync(socketFd);
  }
  return sentBytes;
};
