import { closeSync, readlinkSync } from 'node:fs';
import koffi from 'koffi';
import { listDescriptors } from './descriptors.ts';
import { createTurns } from './turns.ts';

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
export const endRepair = async (pids: readonly number[]): Promise<void> => {
  const turns = createTurns();
  // From the kernel's own memory: handing it to other threads costs more.
  for (const pid of pids) {
    const handle = nativeSyscall(SYS_PIDFD_OPEN, pid, 0, 0) as number;
    if (handle < 0) continue;
    try {
      for (const name of listDescriptors(pid)) {
        if (isSocket(`/proc/${pid}/fd/${name}`)) endRepairOf(handle, Number(name));
        await turns();
      }
    } finally {
      closeSync(handle);
    }
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

const endRepairOf = (process: number, descriptor: number): void => {
  const socket = nativeSyscall(SYS_PIDFD_GETFD, process, descriptor, 0) as number;
  if (socket < 0) return;
  try {
    leaveRepair(socket);
  } finally {
    closeSync(socket);
  }
};

const leaveRepair = (socket: number): void => {
  const value = Buffer.alloc(4);
  const length = Buffer.from([value.length, 0, 0, 0]);
  // Fails for what is no TCP socket.
  if (nativeGet(socket, IPPROTO_TCP, TCP_REPAIR, value, length) !== 0 || value.readInt32LE() !== 1) return;
  nativeSet(socket, IPPROTO_TCP, TCP_REPAIR, Buffer.alloc(4), 4);
};
