import { spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { findProgram } from './run-program.ts';

export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Takes the lock of a folder; waits while another process, or another call in this one, holds it, and tells `onWait` once.
 * The kernel gives the lock back when its holder ends in any way. Rejects with the reason of `signal`.
 */
export async function lockFolder(options: {
  folder: string;
  onWait?: () => void;
  signal?: AbortSignal | undefined;
}): Promise<FolderLock> {
  const { folder, onWait, signal } = options;
  const file = await open(join(folder, '.lock'), 'a', 0o600);
  try {
    if (!(await flock(file, ['--nonblock'], signal))) {
      onWait?.();
      if (!(await flock(file, [], signal)))
        throw new ImageError('build_failed', `${folder} cannot be locked`);
    }
    return { release: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** flock(2) belongs to the open file, which the command shares with us as its descriptor 3: the lock outlives the command. */
async function flock(file: FileHandle, flags: string[], signal: AbortSignal | undefined): Promise<boolean> {
  signal?.throwIfAborted();
  const child = spawn(findProgram('flock', 'util-linux'), ['--exclusive', ...flags, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', file.fd],
    env: {},
  });
  const abort = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', abort, { once: true });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  }).finally(() => signal?.removeEventListener('abort', abort));
  signal?.throwIfAborted();
  return code === 0;
}
