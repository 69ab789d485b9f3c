import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

/** Large enough that the copying outweighs the cost of a read, small enough for the cache. */
const BUFFER_BYTES = 512 * 1024;

/** Resolves when the kernel has the bytes; rejects when the connection is lost. */
export const write = (res: ServerResponse, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    // Node drops a write, with its callback, between the close of the socket and that of the response.
    const onClose = (): void => reject(new Error('the connection was closed'));
    res.once('close', onClose);
    res.write(bytes, (error) => {
      res.off('close', onClose);
      if (error) reject(error);
      else resolve();
    });
  });

/**
 * Sends a part of a file, and resolves with the number of bytes sent: fewer than asked for when the file ends before. Reads
 * into one buffer while the other is on its way; using the same two all the time takes half the processor time of a stream,
 * which allocates as it goes. Rejects when the reader goes away.
 */
export const sendBytes = async (
  file: FileHandle,
  res: ServerResponse,
  { start, sizeBytes }: { start: number; sizeBytes: number },
): Promise<number> => {
  const length = Math.min(BUFFER_BYTES, sizeBytes);
  const buffers = [Buffer.allocUnsafeSlow(length), Buffer.allocUnsafeSlow(length)] as const;
  const writes: [Promise<void>, Promise<void>] = [Promise.resolve(), Promise.resolve()];
  let sentBytes = 0;
  try {
    for (let turn = 0; sentBytes < sizeBytes; turn += 1) {
      const which = turn % 2 === 0 ? 0 : 1;
      await writes[which];
      const wanted = Math.min(length, sizeBytes - sentBytes);
      const { bytesRead } = await file.read(buffers[which], 0, wanted, start + sentBytes);
      if (bytesRead === 0) break;
      sentBytes += bytesRead;
      writes[which] = write(res, buffers[which].subarray(0, bytesRead));
      // Awaited two rounds later; this marks the rejection as handled.
      writes[which].catch(() => undefined);
    }
    await Promise.all(writes);
  } finally {
    // The buffers must stay allocated until the write has finished.
    await Promise.allSettled(writes);
  }
  return sentBytes;
};
