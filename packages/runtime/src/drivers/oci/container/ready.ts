import { lstatSync, watch } from 'node:fs';

/**
 * Resolves when `folder` has an entry called `name`, by a notification of the kernel and without polling. Rejects with
 * the signal's reason. Call it before the entry can appear.
 */
export const waitForEntry = (folder: string, name: string, signal: AbortSignal): Promise<void> =>
  watchFor(folder, name, { isWanted: true, signal });

/** Waits for the entry to disappear, otherwise as `waitForEntry` does. */
export const waitForNoEntry = (folder: string, name: string, signal: AbortSignal): Promise<void> =>
  watchFor(folder, name, { isWanted: false, signal });

const watchFor = (
  folder: string,
  name: string,
  { isWanted, signal }: { isWanted: boolean; signal: AbortSignal },
): Promise<void> =>
  new Promise((resolve, reject) => {
    const watcher = watch(folder);
    const settle = (act: () => void): void => {
      watcher.close();
      signal.removeEventListener('abort', abort);
      act();
    };
    const abort = (): void => settle(() => reject(signal.reason));
    const look = (): void => {
      try {
        const isThere = lstatSync(`${folder}/${name}`, { throwIfNoEntry: false }) !== undefined;
        if (isThere === isWanted) settle(resolve);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    watcher.on('change', (_event, changed) => {
      if (changed === name) look();
    });
    watcher.on('error', (error) => settle(() => reject(error)));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    else look();
  });
