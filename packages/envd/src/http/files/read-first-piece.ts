import type { FileHandle } from 'node:fs/promises';

const PIECE_BYTES = 64 * 1024;

/** A file is shorter than expected. */
export class EndsEarlierError extends Error {
  override name = 'EndsEarlierError';
  /** The size found by reading. */
  readonly sizeBytes: number;

  constructor(sizeBytes: number) {
    super(`the file ends after ${sizeBytes} bytes`);
    this.sizeBytes = sizeBytes;
  }
}

/**
 * Reads the first bytes of a part of a file, all of them where they are few. Rejects with `EndsEarlierError` when the file
 * ends early; a caller that has not sent Content-Length yet can then send the right one.
 */
export const readFirstPiece = async (
  file: FileHandle,
  { start, sizeBytes }: { start: number; sizeBytes: number },
): Promise<Buffer> => {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, sizeBytes));
  const { bytesRead } = await file.read(piece, 0, piece.length, start);
  if (bytesRead < piece.length) throw new EndsEarlierError(start + bytesRead);
  return piece;
};
