import { statfs } from 'node:fs/promises';
import { isRuntimeError, RuntimeError, toRuntimeError } from '../../error.ts';

/**
 * Maps the cause of a failed step to an error of the port: `unavailable` when the signal aborted, the error itself
 * unless it is `internal`, `exhausted` when the host has no room left, and otherwise `internal`. Call it before
 * anything is removed that may have filled the disk of the data folder.
 */
export const toStepError = async (
  error: unknown,
  { step, dataDir, signal }: { step: string; dataDir: string; signal?: AbortSignal },
): Promise<RuntimeError> => {
  if (signal?.aborted) {
    return new RuntimeError('unavailable', `${step} was aborted or took too long`, { cause: error });
  }
  if (isRuntimeError(error) && error.code !== 'internal') return error;
  // Other programs, and the disks of sandboxes, have no error code for a full host.
  if (isExhaustion(error) || (await isFull(dataDir)))
    return new RuntimeError('exhausted', 'the host is full', { cause: error });
  return toRuntimeError(error, step);
};

/** Disk, memory, processes or descriptors of the host: a later attempt may find them free. */
const isExhaustion = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE'].includes(
    (error as NodeJS.ErrnoException | undefined)?.code ?? '',
  );

/** Less than any write of many pages needs: a failed write has left no more. */
const LEAST_BYTES = 2 ** 20;

const isFull = async (folder: string): Promise<boolean> => {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  // Some file systems do not count inodes.
  return bavail * bsize < LEAST_BYTES || (files > 0 && ffree === 0);
};
