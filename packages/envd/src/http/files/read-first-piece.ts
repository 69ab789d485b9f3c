import type { FileHandle } from 'node:fs/promises';

const PIECE_BYTES = 64 * 1024;

/** A file is shorter than it was said to be. */
export class EndsEarlierError extends Error {
  override name = 'EndsEarlierError';
  /** Where it ended when it was read. */
  readonly sizeBytes: number;

  constructor(sizeBytes: number) {
    super(`the file ends after ${sizeBytes} bytes`);
    this.sizeBytes = sizeBytes;
  }
}

/**
 * Reads the first bytes of a part of a file, all of them where they are few. Rejects with `EndsEarlierError` when the file
 * ends before: whoever has not promised anything by then can still promise what there is.
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
