import { fchownSync, fstatSync, lchownSync, lstatSync, type Stats } from 'node:fs';
import { isErrno } from '../../system/errno.ts';
import { isWithoutAttributes, setAttribute } from '../../system/xattr.ts';
import type { Attributes } from './entry-attributes.ts';
import { RefusedEntryError } from './entry-error.ts';
import type { Owner } from './owner.ts';

/**
 * Changes the owner of an open file, or of what is at a path, without following a link. Throws `RefusedEntryError` for
 * an id that the sandbox does not have, else the error of the system call.
 */
export const setOwner = (target: number | string, { uid, gid }: Owner): void => {
  const change = (): Stats => {
    if (typeof target === 'string') {
      lchownSync(target, uid, gid);
      return lstatSync(target);
    }
    fchownSync(target, uid, gid);
    return fstatSync(target);
  };
  if (!isOwnedBy(change, { uid, gid }))
    throw new RefusedEntryError(`has the owner ${uid}:${gid}, and the sandbox has no such id`);
};

/** The sentry of gVisor reports success for an id without a mapping and changes nothing; the kernel refuses it (user_namespaces(7)). */
const isOwnedBy = (change: () => Stats, { uid, gid }: Owner): boolean => {
  try {
    const found = change();
    return found.uid === uid && found.gid === gid;
  } catch (error) {
    if (isErrno(error) && error.code === 'EINVAL') return false;
    throw error;
  }
};

/**
 * Adds extended attributes to an open file. Throws `RefusedEntryError` where the file system has none, else the error of
 * the system call.
 */
export const setAttributes = (fd: number, attributes: Attributes): void => {
  for (const [name, value] of attributes) {
    try {
      setAttribute(fd, name, value);
    } catch (error) {
      if (!isWithoutAttributes(error)) throw error;
      throw new RefusedEntryError(`has the extended attribute ${name}, and the sandbox cannot store any`);
    }
  }
};
