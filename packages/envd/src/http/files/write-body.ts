import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { notePassed } from '@skerry/contract/passing-buffers';
import { fromErrno, isErrno } from '../../system/errno.ts';
import type { User } from '../../system/users.ts';
import { type FileMetadata, replaceMetadata } from './metadata.ts';
import { openForWriting } from './open-for-writing.ts';

/** One uploaded file, as the answer lists it. */
export interface UploadRecord {
  path: string;
  name: string;
  type: 'file';
  /** The metadata; absent when empty, because clients compare the record exactly. */
  metadata?: FileMetadata;
}

/** Pieces are collected to this size: each write goes through a thread, which costs more than writing one piece. */
const WRITE_BYTES = 512 * 1024;

const writeAll = async (file: FileHandle, pieces: Uint8Array[]): Promise<void> => {
  let { bytesWritten } = await file.writev(pieces);
  for (const piece of pieces) {
    // A partial write means an error; the next write reports it.
    for (let at = bytesWritten; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
    bytesWritten = Math.max(0, bytesWritten - piece.length);
  }
};

/** Writes what has arrived while the next pieces arrive. */
const pump = async (body: AsyncIterable<Uint8Array>, file: FileHandle): Promise<void> => {
  let pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  let writing: Promise<void> = Promise.resolve();
  for await (const piece of body) {
    notePassed(piece);
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes < WRITE_BYTES) continue;
    await writing;
    writing = writeAll(file, pieces);
    // Awaited before the next one; this marks the rejection as handled.
    writing.catch(() => undefined);
    pieces = [];
    sizeBytes = 0;
  }
  await writing;
  if (sizeBytes > 0) await writeAll(file, pieces);
};

/**
 * Writes a body to a file as it arrives. When that fails, a new file is deleted, and an existing one keeps what was written.
 */
export const writeBody = async (
  body: AsyncIterable<Uint8Array>,
  { path, user, metadata }: { path: string; user: User; metadata: FileMetadata },
): Promise<UploadRecord> => {
  const { file, restoreMode, undo } = await openForWriting(path, user);
  try {
    await pump(body, file);
    await restoreMode();
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
