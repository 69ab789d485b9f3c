import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fromErrno } from '../errno.ts';
import { type FileMetadata, replaceMetadata } from '../metadata.ts';
import type { User } from '../users.ts';
import { openForWriting } from './open-for-writing.ts';

/** One uploaded file, as the answer lists it. */
export interface UploadRecord {
  path: string;
  name: string;
  type: 'file';
  /** Left out when empty: clients compare the record exactly. */
  metadata?: FileMetadata;
}

/** So many bytes may wait for the disk while the next ones arrive. */
const BUFFER_BYTES = 4 * 1024 * 1024;

/**
 * Writes a body to a file as it arrives. When that fails, a file that did not exist before is taken away again, and one
 * that did is left with what was written.
 */
export const writeBody = async (
  body: AsyncIterable<Uint8Array>,
  { path, user, metadata }: { path: string; user: User; metadata: FileMetadata },
): Promise<UploadRecord> => {
  const { file, undo } = await openForWriting(path, user);
  try {
    // The handle and not its number: a failed pipeline closes what it was given, and closing a handle twice is harmless.
    await pipeline(body, createWriteStream('', { fd: file, autoClose: false, highWaterMark: BUFFER_BYTES }));
    const stored = replaceMetadata(file.fd, metadata);
    const record: UploadRecord = { path, name: basename(path), type: 'file' };
    return Object.keys(stored).length === 0 ? record : { ...record, metadata: stored };
  } catch (error) {
    await undo();
    throw fromErrno(error);
  } finally {
    await file.close();
  }
};
