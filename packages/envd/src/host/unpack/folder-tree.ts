import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { readSparse, type SparseFile } from '@skerry/contract/sparse-file';
import { isErrno } from '../../system/errno.ts';
import type { Attributes } from './entry-attributes.ts';
import { RefusedEntryError } from './entry-error.ts';
import type { Owner } from './owner.ts';
import { setAttributes, setOwner } from './set-metadata.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;
/** The kernel's own limit: path_resolution(7). */
const MAX_LINKS = 40;
const FOLDER_MODE = 0o755;

type Path = readonly string[];

interface EntryOptions {
  mode: number;
  /** Default: the owner of the tree. */
  owner?: Owner | undefined;
  attributes?: Attributes | undefined;
}

/**
 * A folder, and what is written below it. Paths are relative to it. Links on the way are followed inside of the folder,
 * whatever else changes them meanwhile; one that leaves it is refused. Missing folders are made. All that is new belongs
 * to the owner; folders that exist keep owner and mode. Throws `RefusedEntryError`, or the error of the system call.
 */
export interface FolderTree {
  /** A folder below this one, as a tree of its own. */
  open(path: Path): FolderTree;
  /** A folder that was here already keeps mode, owner and attributes unless `overwrite` is set. */
  makeFolder(path: Path, options: EntryOptions & { overwrite?: boolean }): void;
  /** Replaces a file or a link; reads the content to its end. */
  writeFile(
    path: Path,
    options: EntryOptions & { modifiedAtSeconds: number; sparse?: SparseFile | undefined },
    content: AsyncIterable<Uint8Array>,
  ): Promise<void>;
  makeSymlink(
    path: Path,
    options: { target: string; modifiedAtSeconds: number; owner?: Owner | undefined },
  ): void;
  /** A further name of a file that is below this folder. */
  makeLink(path: Path, options: { to: Path }): void;
  close(): void;
}

/** An entry of an open folder, as openat(2) names it: nothing that is done to the way there changes it. */
const at = (folder: number, name: string): string => `/proc/self/fd/${folder}/${name}`;

const hasCode = (error: unknown, ...codes: string[]): boolean => isErrno(error) && codes.includes(error.code);

const splitPath = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

/** The tree of the whole file system. The caller closes it. */
export const openRoot = (owner: Owner): FolderTree =>
  createTree(openSync('/', O_RDONLY | O_DIRECTORY), { owner, made: new Set() });

const createTree = (root: number, options: { owner: Owner; made: Set<string> }): FolderTree => {
  const { owner, made } = options;
  /** Whose files usually come one after another. */
  let last: { key: string; folder: number } | undefined;
  const forgetLast = (): void => {
    if (last) closeSync(last.folder);
    last = undefined;
  };

  const identify = (folder: number): string => {
    const { dev, ino } = fstatSync(folder, { bigint: true });
    return `${dev}:${ino}`;
  };

  const openFolder = (path: string): number => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

  const makeMissing = (path: string): number => {
    mkdirSync(path);
    const folder = openFolder(path);
    setOwner(folder, owner);
    fchmodSync(folder, FOLDER_MODE);
    made.add(identify(folder));
    return folder;
  };

  /** The target of a link as a path from this folder, or from that of the link when it is relative. */
  const readLink = (path: string): { isAbsolute: boolean; parts: string[] } => {
    let target: string;
    try {
      target = readlinkSync(path);
    } catch (error) {
      if (!hasCode(error, 'EINVAL')) throw error;
      throw new RefusedEntryError('passes through something that is no folder');
    }
    if (!target.startsWith('/')) return { isAbsolute: false, parts: splitPath(target) };
    const own = readlinkSync(`/proc/self/fd/${root}`);
    const prefix = own === '/' ? own : `${own}/`;
    if (!`${target}/`.startsWith(prefix)) throw new RefusedEntryError(leaves);
    return { isAbsolute: true, parts: splitPath(target.slice(prefix.length)) };
  };

  /** Opens a folder, made where it is missing; the caller closes it. */
  const enter = (path: Path): number => {
    const pending = path.toReversed();
    let stack: number[] = [];
    const closeAll = (): void => {
      for (const folder of stack) closeSync(folder);
      stack = [];
    };
    let links = 0;
    try {
      for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
        if (name === '..') {
          const left = stack.pop();
          if (left !== undefined) closeSync(left);
          else if (readlinkSync(`/proc/self/fd/${root}`) !== '/') throw new RefusedEntryError(leaves);
          continue;
        }
        const here = at(stack.at(-1) ?? root, name);
        try {
          stack.push(openFolder(here));
          continue;
        } catch (error) {
          if (hasCode(error, 'ENOENT')) {
            stack.push(makeMissing(here));
            continue;
          }
          if (!hasCode(error, 'ENOTDIR', 'ELOOP')) throw error;
        }
        links += 1;
        if (links > MAX_LINKS) throw new RefusedEntryError('passes through too many links');
        const { isAbsolute, parts } = readLink(here);
        if (isAbsolute) closeAll();
        pending.push(...parts.toReversed());
      }
      return stack.pop() ?? openSync(`/proc/self/fd/${root}`, O_RDONLY | O_DIRECTORY);
    } finally {
      closeAll();
    }
  };

  /** The folder of an entry, open until the next call, and the entry in it. */
  const enterParent = (path: Path): string => {
    const name = path.at(-1);
    if (name === undefined) throw new RefusedEntryError('is in the place of the destination');
    const key = path.slice(0, -1).join('/');
    if (last?.key !== key) {
      const folder = enter(path.slice(0, -1));
      forgetLast();
      last = { key, folder };
    }
    return at(last.folder, name);
  };

  /** Makes an entry, in place of a file or a link that is there. */
  const replace = <T>(path: string, make: () => T): T => {
    try {
      return make();
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    if (lstatSync(path).isDirectory()) throw new RefusedEntryError('is in the place of a folder');
    unlinkSync(path);
    return make();
  };

  const setMetadata = (fd: number, { mode, owner: own = owner, attributes = [] }: EntryOptions): void => {
    setOwner(fd, own);
    // After the owner: chown(2) clears setuid.
    fchmodSync(fd, mode);
    setAttributes(fd, attributes);
  };

  return {
    open: (path) => createTree(enter(path), options),
    makeFolder: (path, { overwrite = false, ...entry }) => {
      const folder = enter(path);
      try {
        if (overwrite || made.has(identify(folder))) setMetadata(folder, entry);
      } finally {
        closeSync(folder);
      }
    },
    writeFile: async (path, { modifiedAtSeconds, sparse, ...entry }, content) => {
      const place = enterParent(path);
      const file = replace(place, () => openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
      try {
        if (sparse === undefined) for await (const piece of content) writeAll(file, piece, null);
        else {
          const pieces = readSparse(sparse, content, path.join('/'));
          for await (const { bytes, position } of pieces) writeAll(file, bytes, position);
          ftruncateSync(file, sparse.sizeBytes);
        }
        setMetadata(file, entry);
        futimesSync(file, modifiedAtSeconds, modifiedAtSeconds);
      } finally {
        closeSync(file);
      }
    },
    makeSymlink: (path, { target, modifiedAtSeconds, owner: own = owner }) => {
      const place = enterParent(path);
      replace(place, () => symlinkSync(target, place));
      setOwner(place, own);
      lutimesSync(place, modifiedAtSeconds, modifiedAtSeconds);
      // Later entries may pass through it.
      forgetLast();
    },
    makeLink: (path, { to }) => {
      const [name] = to.slice(-1);
      if (name === undefined) throw new RefusedEntryError('is a link to no file');
      const folder = enter(to.slice(0, -1));
      try {
        const source = at(folder, name);
        const found = lstatSync(source, { throwIfNoEntry: false });
        if (!found?.isFile()) throw new RefusedEntryError('is a link to no file');
        const place = enterParent(path);
        const there = lstatSync(place, { throwIfNoEntry: false });
        if (there?.ino === found.ino && there.dev === found.dev) return;
        replace(place, () => linkSync(source, place));
      } finally {
        closeSync(folder);
      }
    },
    close: () => {
      forgetLast();
      closeSync(root);
    },
  };
};

/** Writes all bytes at a position of the file, or with null where the last write ended. */
const writeAll = (file: number, bytes: Uint8Array, position: number | null): void => {
  for (let done = 0; done < bytes.length; ) {
    const at = position === null ? null : position + done;
    done += writeSync(file, bytes, done, bytes.length - done, at);
  }
};

const leaves = 'leaves the destination through a link';
