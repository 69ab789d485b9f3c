import { closeSync, fstatSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { createYielder } from '../../../../concurrency/yielder.ts';
import koffi, { libc } from '../../../../kernel/native.ts';
import { ioctl, SyscallError } from '../../../../kernel/syscalls.ts';
import type { Cgroup } from '../../cgroup/cgroup.ts';
import { borrowDescriptor } from '../descriptors/borrow-descriptor.ts';
import { listDescriptors, readDescriptor } from '../descriptors/list-descriptors.ts';

const nativeGet = libc.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ void *)');
const nativeSet = libc.func('int setsockopt(int, int, int, const void *, unsigned int)');
const nativeReceive = libc.func(
  'long recvfrom(int, _Out_ void *, size_t, int, _Out_ void *, _Inout_ void *)',
);
/** One option, a number, of a socket of a sandbox. */
export interface SocketOption {
  level: number;
  name: number;
}

/** The file that a unix socket was bound to. */
export interface SocketFile {
  /** The present path in the sandbox, without links; the last one where it has none any more. */
  path: Buffer;
  isDeleted: boolean;
  hardLinkCount: number;
}

/** A socket of a sandbox, during its visit. */
export interface SandboxSocket {
  readonly inode: string;
  /** A process that has it open. */
  readonly pid: number;
  /** Undefined when it is no unix socket that was bound to a path. */
  readFile(): SocketFile | undefined;
  /** Undefined when a socket of this kind lacks the option. */
  get(option: SocketOption): number | undefined;
  /** Does nothing when a socket of this kind, or in this state, lacks the option. */
  set(option: SocketOption, value: number): void;
  /**
   * The address of the sender of the first pending message; undefined when there is none. Clears the error that reports
   * lost messages.
   */
  peek(): Buffer | undefined;
  /** The number of bytes that can be read up to an urgent one; undefined when a socket of this kind does not tell. */
  countUnread(): number | undefined;
  /** The number of bytes, of at most `length`, that one read returns. */
  measureRead(length: number): number;
  /** Discards the first pending message. */
  drop(): void;
}

/**
 * Calls `visit` once for each socket of the processes; freezes the processes where they are not. Rejects as `freeze`,
 * and with what `visit` throws.
 */
export const visitSockets = async (
  cgroup: Pick<Cgroup, 'freeze' | 'members'>,
  visit: (socket: SandboxSocket) => void,
): Promise<void> => {
  await cgroup.freeze();
  await visitFrozenSockets(await cgroup.members(), visit);
};

/**
 * Visits the sockets of frozen processes, otherwise as `visitSockets` does. Rejects with what `visit` throws.
 */
export const visitFrozenSockets = async (
  pids: readonly number[],
  visit: (socket: SandboxSocket) => void,
): Promise<void> => {
  const yielder = createYielder();
  const seen = new Set<string>();
  for (const descriptor of listDescriptors(pids)) {
    const link = readDescriptor(descriptor);
    const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
    if (inode !== undefined && !seen.has(inode)) {
      seen.add(inode);
      borrowDescriptor(descriptor, (fd) => visit(toSocket(fd, { inode, pid: descriptor.pid })));
    }
    await yielder();
  }
};

const toSocket = (fd: number, { inode, pid }: { inode: string; pid: number }): SandboxSocket => ({
  inode,
  pid,
  readFile: () => readSocketFile(fd),
  get: ({ level, name }) => {
    const value = Buffer.alloc(4);
    const length = Buffer.from([value.length, 0, 0, 0]);
    return nativeGet(fd, level, name, value, length) === 0 ? value.readInt32LE() : undefined;
  },
  set: ({ level, name }, value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    nativeSet(fd, level, name, bytes, bytes.length);
  },
  peek: () => {
    let sender = receive(fd, MSG_DONTWAIT | MSG_PEEK);
    // Reported once: messages before the pending ones were lost.
    if (sender === undefined && koffi.errno() === constants.errno.ENOBUFS)
      sender = receive(fd, MSG_DONTWAIT | MSG_PEEK);
    return sender;
  },
  countUnread: () => {
    const count = Buffer.alloc(4);
    try {
      ioctl(fd, FIONREAD, count);
    } catch (error) {
      if (error instanceof SyscallError) return undefined;
      throw error;
    }
    return count.readInt32LE();
  },
  measureRead: (length) =>
    Math.max(
      0,
      nativeReceive(fd, Buffer.alloc(length), length, MSG_DONTWAIT | MSG_PEEK, null, null) as number,
    ),
  drop: () => void receive(fd, MSG_DONTWAIT),
});

/** asm-generic/ioctls.h */
const FIONREAD = 0x541b;

/** linux/un.h: opens the file of a unix socket. */
const SIOCUNIXFILE = 0x89e0;
const DELETED = ' (deleted)';

const readSocketFile = (socket: number): SocketFile | undefined => {
  let file: number;
  try {
    file = ioctl(socket, SIOCUNIXFILE, 0);
  } catch (error) {
    // Sockets without a file, and of other kinds.
    if (error instanceof SyscallError) return undefined;
    throw error;
  }
  try {
    const shown = readlinkSync(`/proc/self/fd/${file}`, 'buffer');
    const isDeleted = shown.subarray(-DELETED.length).equals(Buffer.from(DELETED));
    const path = isDeleted ? shown.subarray(0, -DELETED.length) : shown;
    return { path, isDeleted, hardLinkCount: fstatSync(file).nlink };
  } finally {
    closeSync(file);
  }
};

// linux/socket.h
const [MSG_PEEK, MSG_DONTWAIT] = [0x2, 0x40];
const ADDRESS_BYTES = 128;

/** The sender of the received message. */
const receive = (fd: number, flags: number): Buffer | undefined => {
  const [content, sender, length] = [Buffer.alloc(1), Buffer.alloc(ADDRESS_BYTES), Buffer.alloc(4)];
  length.writeUInt32LE(ADDRESS_BYTES);
  return nativeReceive(fd, content, content.length, flags, sender, length) < 0 ? undefined : sender;
};
