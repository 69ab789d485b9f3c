import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  utimes,
} from 'node:fs/promises';
import { posix } from 'node:path';
import type { StandInRequest } from '@skerry/contract/agent-control';
import { invalid } from '@skerry/contract/error';
import { isErrno } from '../system/errno.ts';
import { copyAttributes } from '../system/xattr.ts';
import { mounted } from './pack/find-sources.ts';

/** Where files are as long as others are in their place: on the same file system, so that they need not be copied. */
const ASIDE = '/.skerry-aside';

/**
 * Files in the place of others, for a while. A sandbox has no right to mount: what is at a path is moved to another folder, and back
 * afterwards.
 */
export interface StandIns {
  /**
   * Sets aside what is at a path, makes missing folders on the way to it, and an empty folder there if the request has one. Rejects with
   * `invalid_argument` for a path that cannot be emptied.
   */
  enter(request: StandInRequest): Promise<void>;
  /** Removes what is at the path, and puts back what was there. Rejects with `invalid_argument` for a path that `enter` does not hold. */
  leave(target: string): Promise<void>;
}

interface Held {
  /** The path without links. */
  path: string;
  /** Where what was there is now; undefined when nothing was. */
  aside: string | undefined;
  /** Folders that were made on the way to it, the first one first. */
  made: readonly string[];
  /** The folder that it is in, and its times. */
  parent: { path: string; atime: Date; mtime: Date };
}

const hasCode = (error: unknown, ...codes: string[]): boolean => isErrno(error) && codes.includes(error.code);

export const createStandIns = (): StandIns => {
  const held = new Map<string, Held>();
  return {
    enter: async ({ target, folder }) => {
      const { path, made } = await makeWay(target);
      const parentPath = posix.dirname(path);
      const { atime, mtime } = await lstat(parentPath);
      const found = await lstat(path).catch(ifMissing);
      let aside: string | undefined;
      if (found !== undefined) {
        await mkdir(ASIDE, { mode: 0o700 }).catch(ifThere);
        aside = posix.join(ASIDE, randomBytes(8).toString('hex'));
        await move(path, aside).catch((error: unknown) => refuseErrno(target, error));
      }
      held.set(target, { path, aside, made, parent: { path: parentPath, atime, mtime } });
      if (folder === undefined) return;
      await mkdir(path);
      await chown(path, folder.uid, folder.gid);
      await chmod(path, folder.mode);
    },
    leave: async (target) => {
      const { path, aside, made, parent } = held.get(target) ?? refuse(target, 'is no path of a mount');
      await rm(path, { recursive: true, force: true });
      if (aside !== undefined) await move(aside, path).catch((error: unknown) => refuseErrno(target, error));
      held.delete(target);
      if (held.size === 0) await rmdir(ASIDE).catch(ifMissing);
      // The command may have put something into them.
      for (const folder of made.toReversed()) await rmdir(folder).catch(ifThere);
      await utimes(parent.path, parent.atime, parent.mtime).catch(ifMissing);
    },
  };
};

const refuse = (target: string, reason: string): never => {
  throw invalid(`${JSON.stringify(target)} ${reason}`);
};

const refuseErrno = (target: string, error: unknown): never => {
  if (!isErrno(error)) throw error;
  return refuse(target, `cannot be moved: ${error.code}`);
};

const ifMissing = (error: unknown): undefined => {
  if (hasCode(error, 'ENOENT')) return undefined;
  throw error;
};

const ifThere = (error: unknown): undefined => {
  if (hasCode(error, 'EEXIST', 'ENOENT', 'ENOTEMPTY')) return undefined;
  throw error;
};

/** Follows links on the way to a path and at its end, and makes what is missing before it. */
const makeWay = async (target: string): Promise<{ path: string; made: string[] }> => {
  if (!target.startsWith('/') || target.includes('\0')) refuse(target, 'must be absolute');
  const path = await realpath(target).catch((error: unknown) => {
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return refuse(target, 'passes through what is no folder');
    return ifMissing(error);
  });
  if (path !== undefined) return { path: requireOwn(path, target), made: [] };
  const made: string[] = [];
  let parent = '/';
  for (const part of posix.normalize(posix.dirname(target)).split('/').filter(Boolean)) {
    const next = posix.join(parent, part);
    const found = await realpath(next).catch(ifMissing);
    if (found === undefined) {
      requireOwn(next, target);
      await mkdir(next, { mode: 0o755 });
      made.push(next);
    }
    parent = found ?? next;
  }
  return { path: requireOwn(posix.join(parent, posix.basename(target)), target), made };
};

const requireOwn = (path: string, target: string): string => {
  if (path === '/') refuse(target, 'is the root, which nothing can be mounted on');
  const isHosts = [...mounted, ASIDE].some((one) => path === one || path.startsWith(`${one}/`));
  return isHosts ? refuse(target, 'is no path of the image') : path;
};

/**
 * Moves a file or a folder within the file system. An overlay (overlayfs, the file system of a sandbox) does not move a folder of its image: then
 * what is in it is moved.
 */
const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
    return;
  } catch (error) {
    if (!hasCode(error, 'EXDEV', 'EBUSY', 'EPERM')) throw error;
    const stats = await lstat(from);
    if (!stats.isDirectory()) throw error;
    await mkdir(to, { mode: 0o700 });
    for (const name of await readdir(from)) await move(posix.join(from, name), posix.join(to, name));
    const folder = await open(to, 'r');
    try {
      copyAttributes(from, folder.fd);
    } finally {
      await folder.close();
    }
    await chown(to, stats.uid, stats.gid);
    await chmod(to, stats.mode & 0o7777);
    await utimes(to, stats.atime, stats.mtime);
    await rmdir(from);
  }
};
