import { closeSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWriteOut } from '../../../kernel/syscalls.ts';

/** Long enough for a disk to have something to do, short against the time that many megabytes take. */
const ROUND_MS = 25;

/**
 * Resolves or rejects as `work`, which fills large files in a folder. While it does, the disk is given what they have so
 * far, so that less is left to wait for when they are synced: by itself the kernel begins much later.
 */
export const writeOutMeanwhile = async <T>(
  { folder, isLarge }: { folder: string; isLarge: (name: string) => boolean },
  work: () => Promise<T>,
): Promise<T> => {
  const done = new AbortController();
  const writeOut = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await sleep(ROUND_MS, undefined, { signal: done.signal });
      // It may not be made yet.
      const names = await readdir(folder).catch(() => []);
      for (const name of names.filter(isLarge)) await beginWriteOut(`${folder}/${name}`);
    }
  };
  const writing = writeOut().catch(() => {
    // It was done, or whoever syncs them is told what is wrong.
  });
  try {
    return await work();
  } finally {
    done.abort();
    await writing;
  }
};

/** Lets the disk begin with what is to be written of the file, and waits for none of it. */
export const beginWriteOut = async (path: string): Promise<void> => {
  const fd = openSync(path, 'r');
  try {
    await startWriteOut(fd);
  } finally {
    closeSync(fd);
  }
};
