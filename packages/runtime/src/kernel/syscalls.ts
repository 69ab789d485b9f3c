import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { getSystemErrorName, promisify } from 'node:util';
import koffi, { libc } from './native.ts';
import { returnOrAbort } from './return-or-abort.ts';

/**
 * The system calls that Node does not offer, called in this process: starting `mount`, `losetup` or `mkfifo` for each
 * would cost more than all mounts of a sandbox. A call that waits for a disk or for other processors runs on a thread
 * of its own; all others return at once.
 */

// Numbers since 5.2 and 5.12, the same on every architecture; older C libraries have no wrapper for them.
const SYS_OPEN_TREE = 428;
const SYS_MOVE_MOUNT = 429;
const SYS_MOUNT_SETATTR = 442;

/** open(2): opens a file or folder as a reference, without the right to read it. Node has no constant for it. */
export const O_PATH = 0o10000000;

const CLONE_NEWNS = 0x20000;
const CLONE_NEWUTS = 0x4000000;
const MS_REC = 0x4000;
const MS_PRIVATE = 1 << 18;
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const OPEN_TREE_CLONE = 1;
const O_CLOEXEC = 0o2000000;
const OPEN_TREE_CLOEXEC = O_CLOEXEC;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const MOUNT_ATTR_IDMAP = 0x100000;

/** The numbers of limits, which x86-64 and arm64 share. */
const LIMITS = { openFiles: 7, coreBytes: 4 };
export type Limit = keyof typeof LIMITS;

export const MountFlag = {
  readOnly: 1,
  remount: 32,
  nosuid: 2,
  nodev: 4,
  noexec: 8,
  noatime: 0x400,
  bind: 0x1000,
} as const;

const nativeMount = libc.func(
  'int mount(const char *, const char *, const char *, unsigned long, const char *)',
);
const nativeMountAside = promisify(nativeMount.async) as (...args: unknown[]) => Promise<number>;
const nativeUnmount = libc.func('int umount2(const char *, int)');
const nativeUnmountAside = promisify(nativeUnmount.async) as (...args: unknown[]) => Promise<number>;
const nativePipe = libc.func('int pipe2(void *, int)');
const nativeSetLimit = libc.func('int setrlimit(int, void *)');
const nativeMkfifo = libc.func('int mkfifo(const char *, unsigned int)');
const nativeSeek = libc.func('int64_t lseek(int, int64_t, int)');
const nativeIoctl = libc.func('int ioctl(int, unsigned long, uint64_t)');
const nativeIoctlBuffer = libc.func('ioctl', 'int', ['int', 'unsigned long', 'void *']);
const nativeMemfd = libc.func('int memfd_create(const char *, unsigned int)');
const nativeSyncfs = promisify(libc.func('int syncfs(int)').async) as (fd: number) => Promise<number>;
const nativeSyncRange = promisify(
  libc.func('int sync_file_range(int, int64_t, int64_t, unsigned int)').async,
) as (...args: unknown[]) => Promise<number>;
const nativeCopyRange = libc.func('copy_file_range', 'long', [
  'int',
  'void *',
  'int',
  'void *',
  'size_t',
  'unsigned int',
]);
const nativeCopyRangeAside = promisify(nativeCopyRange.async) as (...args: unknown[]) => Promise<number>;
const nativeUnshare = libc.func('int unshare(int)');
const nativeSetns = libc.func('int setns(int, int)');
const nativeSethostname = libc.func('int sethostname(const char *, size_t)');
const nativeFchdir = libc.func('int fchdir(int)');
const nativeOpenTree = libc.func('long syscall(long, int, const char *, unsigned int)');
const nativeMountSetattr = libc.func('syscall', 'long', [
  'long',
  'int',
  'str',
  'unsigned int',
  'void *',
  'size_t',
]);
const nativeMoveMount = libc.func('long syscall(long, int, const char *, int, const char *, unsigned int)');

/** A system call that failed. `code` is the name of its errno, as in Node's own errors. */
export class SyscallError extends Error {
  readonly code: string;

  constructor(syscall: string, errno: number) {
    const code = getSystemErrorName(-errno);
    super(`${syscall}: ${code}`);
    this.name = 'SyscallError';
    this.code = code;
  }
}

const checked = (syscall: string, result: number | bigint): number => {
  if (result < 0) throw new SyscallError(syscall, koffi.errno());
  return Number(result);
};

export interface MountOptions {
  source: string;
  target: string;
  type: string;
  flags: number;
  data: string;
}

/** Sets the soft and the hard limit of this process (setrlimit(2)); its children inherit them. @throws SyscallError */
export const setLimit = (resource: Limit, value: number): void => {
  const limits = new BigUint64Array([BigInt(value), BigInt(value)]);
  checked(`setrlimit ${resource} to ${value}`, nativeSetLimit(LIMITS[resource], limits));
};

/** mount(2). @throws SyscallError */
export const mount = (options: MountOptions): void => {
  const { source, target, type, flags, data } = options;
  checked(`mount ${type} on ${target}`, nativeMount(source, target, type, flags, data));
};

/** Mounts on a thread of its own, for a file system that is read from a disk; otherwise as `mount` does. */
export const mountAside = async (options: MountOptions): Promise<void> => {
  const { source, target, type, flags, data } = options;
  // errno is only known to that thread; repeating the call here yields it.
  if ((await nativeMountAside(source, target, type, flags, data)) < 0) mount(options);
};

/**
 * Unmounts everything that is mounted at `target` itself: at once for new users of the path, and for the others when
 * the last one closes it. Does nothing when nothing is mounted there or the path does not exist. @throws SyscallError
 */
export const unmountEvery = (target: string): void => {
  while (nativeUnmount(target, MNT_DETACH | UMOUNT_NOFOLLOW) === 0);
  const errno = koffi.errno();
  const { EINVAL, ENOENT } = constants.errno;
  if (errno !== EINVAL && errno !== ENOENT) throw new SyscallError(`umount ${target}`, errno);
};

/**
 * Unmounts on a thread of its own, because it waits for data to be written, and for all processors; otherwise
 * as `unmountEvery` does.
 */
export const unmountEveryAside = async (target: string): Promise<void> => {
  while ((await nativeUnmountAside(target, MNT_DETACH | UMOUNT_NOFOLLOW)) === 0);
  unmountEvery(target);
};

/** A pipe, both ends closed on exec; the caller closes them. @throws SyscallError */
export const createPipe = (): { readFd: number; writeFd: number } => {
  const ends = Buffer.alloc(8);
  checked('pipe2', nativePipe(ends, O_CLOEXEC));
  return { readFd: ends.readInt32LE(0), writeFd: ends.readInt32LE(4) };
};

/** Makes a named pipe, mode 0600. @throws SyscallError */
export const makeFifo = (path: string): void => {
  checked(`mkfifo ${path}`, nativeMkfifo(path, 0o600));
};

/** ioctl(2) with a number, or with a buffer that the kernel reads and writes. @throws SyscallError */
export const ioctl = (fd: number, request: number, argument: number | Buffer): number =>
  checked(
    `ioctl 0x${request.toString(16)}`,
    typeof argument === 'number'
      ? nativeIoctl(fd, request, argument)
      : nativeIoctlBuffer(fd, request, argument),
  );

/**
 * syncfs(2), on a thread of its own: writes all of the file system that `fd` is on. Rejects when a part could not be
 * written.
 */
export const syncFiles = async (fd: number): Promise<void> => {
  if ((await nativeSyncfs(fd)) !== 0) throw new SyscallError('syncfs', constants.errno.EIO);
};

/**
 * sync_file_range(2), on a thread of its own: starts to write the dirty pages of a file, and waits for none of them.
 */
export const startWriteOut = async (fd: number): Promise<void> => {
  const SYNC_FILE_RANGE_WRITE = 2;
  if ((await nativeSyncRange(fd, 0, 0, SYNC_FILE_RANGE_WRITE)) !== 0)
    throw new SyscallError('sync_file_range', constants.errno.EIO);
};

/**
 * copy_file_range(2), on a thread of its own, from and to the same offset. Resolves with the number of bytes copied, 0
 * at the end of the file. Rejects with a SyscallError.
 */
export const copyRange = async (from: number, to: number, range: FileRange): Promise<number> => {
  const args = (): unknown[] => {
    const [offsetFrom, offsetTo] = [Buffer.alloc(8), Buffer.alloc(8)];
    offsetFrom.writeBigInt64LE(BigInt(range.offset));
    offsetTo.writeBigInt64LE(BigInt(range.offset));
    return [from, offsetFrom, to, offsetTo, range.length, 0];
  };
  const copied = await nativeCopyRangeAside(...args());
  // errno is only known to that thread; repeating the call here yields it.
  return copied < 0 ? checked('copy_file_range', nativeCopyRange(...args())) : copied;
};

export interface FileRange {
  offset: number;
  length: number;
}

/** An anonymous file in memory, closed on exec. @throws SyscallError */
export const createMemoryFile = (name: string): number => checked('memfd_create', nativeMemfd(name, 1));

/** The first byte at or after `offset` that is data (`hole: false`) or a hole, or undefined when there is none. */
export const seekSparse = (fd: number, offset: number, options: { hole: boolean }): number | undefined => {
  const SEEK_DATA = 3;
  const SEEK_HOLE = 4;
  const found = nativeSeek(fd, offset, options.hole ? SEEK_HOLE : SEEK_DATA);
  if (found < 0 && koffi.errno() === constants.errno.ENXIO) return undefined;
  return checked('lseek', found);
};

/** Clones the mount at `path` with those below it; the clone is attached nowhere yet, and the caller closes it. */
export const cloneTree = (path: string): number =>
  checked(
    `open_tree ${path}`,
    nativeOpenTree(SYS_OPEN_TREE, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE),
  );

/** Shifts the owners of a clone that is attached nowhere by the id map of a user namespace (Linux 5.12). */
export const idMapTree = (tree: number, userNamespace: number): void => {
  const attributes = Buffer.alloc(32);
  attributes.writeBigUInt64LE(BigInt(MOUNT_ATTR_IDMAP), 0);
  attributes.writeBigUInt64LE(BigInt(userNamespace), 24);
  const flags = AT_EMPTY_PATH | AT_RECURSIVE;
  checked(
    'mount_setattr',
    nativeMountSetattr(SYS_MOUNT_SETATTR, tree, '', flags, attributes, attributes.length),
  );
};

/** Mounts a clone at `target`. */
export const attachTree = (tree: number, target: string): void => {
  checked(
    `move_mount to ${target}`,
    nativeMoveMount(SYS_MOVE_MOUNT, tree, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH),
  );
};

/** Moves the calling thread to a copy of its mounts. Changes still propagate between the two. @throws SyscallError */
export const copyMounts = (): void => {
  checked('unshare', nativeUnshare(CLONE_NEWNS));
};

/** Stops the propagation of mounts from and to the namespace of the calling thread. @throws SyscallError */
export const separateMounts = (): void => {
  checked('mount --make-rprivate', nativeMount('none', '/', null, MS_REC | MS_PRIVATE, null));
};

/** Returns the calling thread to the mounts of a namespace that was held open. @throws SyscallError */
export const leaveMounts = (namespace: number): void => {
  checked('setns', nativeSetns(namespace, CLONE_NEWNS));
};

/** fchdir(2) of the calling thread; process.chdir() takes only a path. @throws SyscallError */
export const returnToFolder = (fd: number): void => {
  checked('fchdir', nativeFchdir(fd));
};

/**
 * sethostname(2) in the UTS namespace of a process. Afterwards the calling thread is back in its own; the process
 * aborts when that fails. @throws SyscallError
 */
export const setHostname = (pid: number, name: string): void => {
  const home = openSync('/proc/thread-self/ns/uts', 'r');
  const other = openSync(`/proc/${pid}/ns/uts`, 'r');
  try {
    checked('setns', nativeSetns(other, CLONE_NEWUTS));
    try {
      checked('sethostname', nativeSethostname(name, Buffer.byteLength(name)));
    } finally {
      returnOrAbort('the UTS namespace of the host', () => checked('setns', nativeSetns(home, CLONE_NEWUTS)));
    }
  } finally {
    closeSync(other);
    closeSync(home);
  }
};
