import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { posix } from 'node:path';

/**
 * The files of a sandbox whose processes are frozen, by absolute paths as its processes see them. Names are bytes: strings
 * have one character for each. Links are followed inside the sandbox only, and by `resolve` alone.
 */
export interface SandboxRoot {
  /** Returns what is at the path; undefined when there is nothing, or a link on the way. */
  find(path: string): Stats | undefined;
  /** Returns the path without links; undefined when it leads to nothing. */
  resolve(path: string): string | undefined;
  /** Returns where a folder is, or could be made. */
  findFolder(folder: string): FoundFolder;
}

export interface FoundFolder {
  /** The folder itself, or the nearest one above it that exists, on its way without links. */
  folder: string;
  /** Whether that is the folder itself. */
  isWhole: boolean;
  /** Whether a file or a link is where the next folder would have to be made. */
  isBlocked: boolean;
}

/** `pid` is that of a frozen process of the sandbox. */
export const createSandboxRoot = (pid: number): SandboxRoot => {
  const toHost = (path: string): Buffer => Buffer.from(`/proc/${pid}/root${path}`, 'latin1');
  /** The folder of the path has no links: the host would follow them. */
  const look = (path: string): Stats | undefined => lstatSync(toHost(path), { throwIfNoEntry: false });
  const folders = new Map<string, boolean>([['/', true]]);
  const isFolder = (path: string): boolean => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const found = isFolder(posix.dirname(path)) && look(path)?.isDirectory() === true;
    folders.set(path, found);
    return found;
  };
  const find = (path: string): Stats | undefined => (isFolder(posix.dirname(path)) ? look(path) : undefined);
  return {
    find,
    resolve: (path) => {
      const rest = path.split('/').reverse();
      let at = '/';
      for (let links = 0, part = rest.pop(); part !== undefined; part = rest.pop()) {
        if (!isFolder(at)) return undefined;
        const next = posix.join(at, part);
        const found = part === '..' || next === at ? undefined : look(next);
        if (found?.isSymbolicLink()) {
          links += 1;
          if (links > MAX_LINKS) return undefined;
          const target = readlinkSync(toHost(next), 'latin1');
          if (target.startsWith('/')) at = '/';
          rest.push(...target.split('/').reverse());
        } else if (found !== undefined || part === '..' || next === at) {
          at = next;
        } else {
          return undefined;
        }
      }
      return at;
    },
    findFolder: (folder) => {
      let at = folder;
      let above = at;
      while (!isFolder(at)) {
        above = at;
        at = posix.dirname(at);
      }
      const isWhole = at === folder;
      return { folder: at, isWhole, isBlocked: !isWhole && look(above) !== undefined };
    },
  };
};

/** path_resolution(7) */
const MAX_LINKS = 40;
