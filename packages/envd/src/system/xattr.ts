import { isErrno } from './errno.ts';
import { createErrnoError, lib } from './libc.ts';

/** Extended attributes (xattr(7)), of an open file by its number or of a path whose last link is not followed. */
const calls = {
  flist: lib.func('long flistxattr(int fd, void *list, size_t size)'),
  llist: lib.func('long llistxattr(const char *path, void *list, size_t size)'),
  fget: lib.func('long fgetxattr(int fd, const char *name, void *value, size_t size)'),
  lget: lib.func('long lgetxattr(const char *path, const char *name, void *value, size_t size)'),
  fset: lib.func('int fsetxattr(int fd, const char *name, const uint8_t *value, size_t size, int flags)'),
  fremove: lib.func('int fremovexattr(int fd, const char *name)'),
};

/** The kernel's limit for a list and for a value (XATTR_LIST_MAX, XATTR_SIZE_MAX). One buffer: calls never overlap. */
const buffer = Buffer.allocUnsafeSlow(65_536);

const isGone = (code: string | undefined): boolean => code === 'ENODATA' || code === 'ENOENT';

/** Whether a call failed because the file system has no extended attributes, as at level `gvisor`. */
export const isWithoutAttributes = (error: unknown): boolean =>
  isErrno(error) && (error.code === 'EOPNOTSUPP' || error.code === 'ENOTSUP' || error.code === 'ENOSYS');

export const listAttributes = (target: number | string): string[] => {
  const list = typeof target === 'number' ? calls.flist : calls.llist;
  const size: number = list(target, buffer, buffer.length);
  if (size < 0) throw createErrnoError('listxattr');
  if (size === 0) return [];
  return buffer.toString('utf8', 0, size - 1).split('\0');
};

/** Undefined when the attribute or the file is gone meanwhile. */
export const getAttribute = (target: number | string, name: string): string | undefined =>
  getAttributeBytes(target, name)?.toString('utf8');

/** The value of an attribute, which may be no text. */
export const getAttributeBytes = (target: number | string, name: string): Buffer | undefined => {
  const get = typeof target === 'number' ? calls.fget : calls.lget;
  const size: number = get(target, name, buffer, buffer.length);
  if (size >= 0) return Buffer.from(buffer.subarray(0, size));
  const error = createErrnoError('getxattr');
  if (isGone(error.code)) return undefined;
  throw error;
};

export const setAttribute = (fd: number, name: string, value: string | Buffer): void => {
  const bytes = Buffer.from(value);
  if (calls.fset(fd, name, bytes, bytes.length, 0) < 0) throw createErrnoError('setxattr');
};

/** Copies the attributes of the namespace `user` to an open file, where both file systems have any. */
export const copyAttributes = (from: string, fd: number): void => {
  try {
    for (const name of listAttributes(from).filter((one) => /^user\.(?!overlay\.)/.test(one))) {
      const value = getAttributeBytes(from, name);
      if (value !== undefined) setAttribute(fd, name, value);
    }
  } catch (error) {
    if (!isWithoutAttributes(error)) throw error;
  }
};

export const removeAttribute = (fd: number, name: string): void => {
  if (calls.fremove(fd, name) >= 0) return;
  const error = createErrnoError('removexattr');
  if (!isGone(error.code)) throw error;
};
