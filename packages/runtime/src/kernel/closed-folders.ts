import { chmodSync, closeSync, mkdirSync, statSync } from 'node:fs';
import { attachTree, cloneTree, mount } from './syscalls.ts';

/**
 * The root user of a container sets it up, and that user is an unprivileged id on the host: it cannot traverse a folder
 * with mode 0700, such as a home. Returns the topmost such folder above each path, with the paths below it. The folders
 * in `hidden` count as closed, and are in the result even with no path below them.
 */
export const findClosedFolders = (
  paths: readonly string[],
  hidden: readonly string[] = [],
): Map<string, string[]> => {
  const closed = new Map<string, string[]>(hidden.map((folder) => [folder, []]));
  const isClosed = (folder: string): boolean =>
    hidden.includes(folder) || (statSync(folder).mode & 0o001) === 0;
  for (const path of paths) {
    const folder = toAncestors(path).find(isClosed);
    if (folder !== undefined) closed.set(folder, [...(closed.get(folder) ?? []), path]);
  }
  return closed;
};

/**
 * Covers each closed folder with an empty one of mode 0711 that contains only the paths themselves. Call it in private
 * mounts: other processes see the folder unchanged.
 */
export const openClosedFolders = (closed: ReadonlyMap<string, readonly string[]>): void => {
  for (const [folder, paths] of closed) {
    const trees = paths.map((path) => ({ path, tree: cloneTree(path) }));
    mount({ source: 'way', target: folder, type: 'tmpfs', flags: 0, data: 'mode=711,size=64k' });
    for (const { path, tree } of trees) {
      for (const step of [...toAncestors(path), path]) {
        if (step.startsWith(`${folder}/`)) makeStep(step);
      }
      attachTree(tree, path);
      closeSync(tree);
    }
  }
};

/** `/a/b/c` → `/a`, `/a/b`. */
const toAncestors = (path: string): string[] => {
  const names = path.split('/').slice(1, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
};

const makeStep = (path: string): void => {
  mkdirSync(path, { recursive: true });
  // The mode must not depend on the umask.
  chmodSync(path, 0o711);
};
