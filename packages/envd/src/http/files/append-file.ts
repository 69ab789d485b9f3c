import type { FileHandle } from 'node:fs/promises';

const BUFFER_BYTES = 512 * 1024;

export type CopyBuffers = readonly [Buffer, Buffer];

export const createCopyBuffers = (): CopyBuffers => [
  Buffer.allocUnsafeSlow(BUFFER_BYTES),
  Buffer.allocUnsafeSlow(BUFFER_BYTES),
];

const writeWhole = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
  // A partial write means an error; the next write reports it.
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
};

/**
 * Appends all of one file to another, reading into one buffer while the other is being written. Rejects with the reason of
 * `signal` when it aborts; no read or write is under way any more when this settles.
 */
export const appendFile = async (
  source: FileHandle,
  target: FileHandle,
  { buffers, signal }: { buffers: CopyBuffers; signal: AbortSignal },
): Promise<void> => {
  let writing: Promise<void> = Promise.resolve();
  try {
    for (let turn = 0; ; turn += 1) {
      signal.throwIfAborted();
      const buffer = buffers[turn % 2 === 0 ? 0 : 1];
      const { bytesRead } = await source.read(buffer, 0, buffer.length);
      await writing;
      if (bytesRead === 0) return;
      writing = writeWhole(target, buffer.subarray(0, bytesRead));
      // Awaited before the next one; this marks the rejection as handled.
      writing.catch(() => undefined);
    }
  } finally {
    // The buffers must stay allocated until the write has finished.
    await Promise.allSettled([writing]);
  }
};
