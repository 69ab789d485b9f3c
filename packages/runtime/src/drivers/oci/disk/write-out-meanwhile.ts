import { closeSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWriteOut } from '../../../kernel/syscalls.ts';

/** Long enough for a disk to have something to do, short against the time that many megabytes take. */
const ROUND_MS = 25;

/**
 * Resolves or rejects as `work`, which fills large files in a folder. Meanwhile it starts to write them to the disk, so
 * that less is left when they are synced: the kernel itself begins much later.
 */
export const writeOutMeanwhile = async <T>(
  { folder, isLarge }: { folder: string; isLarge: (name: string) => boolean },
  work: () => Promise<T>,
): Promise<T> => {
  const done = new AbortController();
  const writeOut = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await sleep(ROUND_MS, undefined, { signal: done.signal });
      // The folder may not exist yet.
      const names = await readdir(folder).catch(() => []);
      for (const name of names.filter(isLarge)) await beginWriteOut(`${folder}/${name}`);
    }
  };
  const writing = writeOut().catch(() => {
    // The file was complete, or the caller that syncs it sees the failure.
  });
  try {
    return await work();
  } finally {
    done.abort();
    await writing;
  }
};

/** Starts to write the dirty pages of a file, and waits for none of them. */
export const beginWriteOut = async (path: string): Promise<void> => {
  const fd = openSync(path, 'r');
  try {
    await startWriteOut(fd);
  } finally {
    closeSync(fd);
  }
};
