import { chmodSync, closeSync, mkdirSync, statSync } from 'node:fs';
import { attachTree, cloneTree, mount } from './syscalls.ts';

/**
 * A container is put together by its own root, which is nobody on the host: a folder that only its owner may pass,
 * such as a home, ends the way to a bundle inside it. Returns the topmost such folder on the way to each path, with
 * the paths behind it. Those in `hidden` are taken as closed, and are in the result with nothing behind them, too.
 */
export const findClosedWays = (
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
 * Covers each closed folder with an empty one that everybody may pass, in which nothing is to be found but the paths
 * themselves. To be called in private mounts: for everybody else the folder stays as it is.
 */
export const openWays = (closed: ReadonlyMap<string, readonly string[]>): void => {
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
  // Whatever this process lets new folders be.
  chmodSync(path, 0o711);
};
