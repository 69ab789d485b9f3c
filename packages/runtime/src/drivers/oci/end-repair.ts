import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import koffi from 'koffi';

// Numbers since 5.3 and 5.6, the same on every architecture.
const SYS_PIDFD_OPEN = 434;
const SYS_PIDFD_GETFD = 438;
// linux/tcp.h
const IPPROTO_TCP = 6;
const TCP_REPAIR = 19;

const libc = koffi.load(null);
const nativeSyscall = libc.func('long syscall(long, int, int, int)');
const nativeGet = libc.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ void *)');
const nativeSet = libc.func('int setsockopt(int, int, int, const void *, unsigned int)');

/**
 * Takes the TCP sockets of the processes, which may be frozen, out of the state in which CRIU reads them and leaves them
 * when the processes are not to run on: a socket that is closed in it tells nobody, and one that is used in it fails.
 * Does nothing about the others.
 */
export const endRepair = (pids: readonly number[]): void => {
  // From the kernel's own memory: handing it to other threads costs more.
  for (const pid of pids) {
    const sockets = listDescriptors(pid).filter((name) => isSocket(`/proc/${pid}/fd/${name}`));
    if (sockets.length > 0) endRepairOf(pid, sockets.map(Number));
  }
};

const listDescriptors = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // The process is gone by now.
    return [];
  }
};

const isSocket = (path: string): boolean => {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    // The descriptor is gone by now.
    return false;
  }
};

const endRepairOf = (pid: number, descriptors: readonly number[]): void => {
  const process = nativeSyscall(SYS_PIDFD_OPEN, pid, 0, 0) as number;
  if (process < 0) return;
  try {
    for (const descriptor of descriptors) {
      const socket = nativeSyscall(SYS_PIDFD_GETFD, process, descriptor, 0) as number;
      if (socket < 0) continue;
      try {
        leaveRepair(socket);
      } finally {
        closeSync(socket);
      }
    }
  } finally {
    closeSync(process);
  }
};

const leaveRepair = (socket: number): void => {
  const value = Buffer.alloc(4);
  const length = Buffer.from([value.length, 0, 0, 0]);
  // Fails for what is no TCP socket.
  if (nativeGet(socket, IPPROTO_TCP, TCP_REPAIR, value, length) !== 0 || value.readInt32LE() !== 1) return;
  nativeSet(socket, IPPROTO_TCP, TCP_REPAIR, Buffer.alloc(4), 4);
};
