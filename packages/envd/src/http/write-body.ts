import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { fromErrno, isErrno } from '../errno.ts';
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

const writeAll = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
};

/** Writes each piece while the next one arrives. */
const pump = async (body: AsyncIterable<Uint8Array>, file: FileHandle): Promise<void> => {
  let writing: Promise<void> = Promise.resolve();
  for await (const chunk of body) {
    await writing;
    writing = writeAll(file, chunk);
    // It is awaited before the next piece; until then its failure must not count as unhandled.
    writing.catch(() => undefined);
  }
  await writing;
};

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
    await pump(body, file);
    const stored = replaceMetadata(file.fd, metadata);
    const record: UploadRecord = { path, name: basename(path), type: 'file' };
    return Object.keys(stored).length === 0 ? record : { ...record, metadata: stored };
  } catch (error) {
    await undo();
    throw isErrno(error) && error.syscall !== undefined ? fromErrno(error) : error;
  } finally {
    await file.close();
  }
};
