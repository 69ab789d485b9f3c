import { type FSWatcher, realpathSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** Programs that renew a certificate write it and its key one after the other. */
const QUIET_MS = 200;

/**
 * Calls `onChange` some time after one of the files has changed. Folders are watched, also those that links lead to: a new file may take
 * the place of the old one, and a link may lead to another. Returns what ends that.
 */
export function watchFiles(paths: readonly string[], onChange: () => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      follow();
      onChange();
    }, QUIET_MS);
  };
  const follow = (): void => {
    const folders = new Set(paths.flatMap((path) => [dirname(path), ...findTarget(path)]));
    for (const [folder, watcher] of watchers)
      if (!folders.has(folder)) {
        watcher.close();
        watchers.delete(folder);
      }
    for (const folder of folders) {
      if (!watchers.has(folder)) {
        const watcher = tryWatch(folder, changed);
        if (watcher === undefined) continue;
        watcher.on('error', () => watchers.delete(folder));
        watchers.set(folder, watcher);
      }
    }
  };
  follow();
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** None for a folder that is gone, or beyond the limit of watches: the next change of another folder tries again. */
const tryWatch = (folder: string, changed: () => void): FSWatcher | undefined => {
  try {
    return watch(folder, changed);
  } catch {
    return undefined;
  }
};

/** The folder of the file that a path leads to; none while a program replaces it. */
const findTarget = (path: string): string[] => {
  try {
    return [dirname(realpathSync(path))];
  } catch {
    return [];
  }
};
