import { constants } from 'node:os';
import koffi, { libc } from './native.ts';
import { SyscallError } from './syscalls.ts';

const nativeList = libc.func('llistxattr', 'long', ['const void *', 'void *', 'size_t']);
const nativeGet = libc.func('lgetxattr', 'long', ['const void *', 'str', 'void *', 'size_t']);

const MAX_LIST_BYTES = 65_536;
const MAX_VALUE_BYTES = 65_536;
const names = Buffer.alloc(MAX_LIST_BYTES);
const value = Buffer.alloc(MAX_VALUE_BYTES);

/** The extended attributes of a file, link or folder; links are not followed. @throws SyscallError */
export const readXattrs = (path: Buffer): Map<string, Buffer> => {
  const terminated = Buffer.concat([path, Buffer.of(0)]);
  const found = new Map<string, Buffer>();
  const length = checked('llistxattr', nativeList(terminated, names, names.length));
  for (const name of names.toString('latin1', 0, length).split('\0')) {
    if (name === '') continue;
    const size = checked('lgetxattr', nativeGet(terminated, name, value, value.length));
    found.set(name, Buffer.from(value.subarray(0, size)));
  }
  return found;
};

const checked = (syscall: string, result: number): number => {
  if (result >= 0) return result;
  const errno = koffi.errno();
  // The file system supports none.
  if (errno === constants.errno.ENOTSUP) return 0;
  throw new SyscallError(syscall, errno);
};

const ACL_NAMES = ['system.posix_acl_access', 'system.posix_acl_default'];
const ACL_HEADER_BYTES = 4;
const ACL_ENTRY_BYTES = 8;
/** ACL_USER and ACL_GROUP of acl(5), the tags whose entries contain an id. */
const NAMING_TAGS = [2, 8];

/** The value of an attribute as it is inside, where ids begin at 0: access control lists contain ids. */
export const toInnerXattr = (name: string, outer: Buffer, baseId: number): Buffer => {
  if (!ACL_NAMES.includes(name)) return outer;
  const inner = Buffer.from(outer);
  for (let at = ACL_HEADER_BYTES; at + ACL_ENTRY_BYTES <= inner.length; at += ACL_ENTRY_BYTES) {
    if (!NAMING_TAGS.includes(inner.readUInt16LE(at))) continue;
    inner.writeUInt32LE(Math.max(0, inner.readUInt32LE(at + 4) - baseId), at + 4);
  }
  return inner;
};
