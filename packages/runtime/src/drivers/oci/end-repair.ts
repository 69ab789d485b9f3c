import { closeSync } from 'node:fs';
import koffi from 'koffi';
import type { Cgroup } from './cgroup.ts';
import { type Descriptor, listDescriptors, readDescriptor } from './descriptors.ts';
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
 * Takes the TCP sockets of the processes, which it freezes where they are not, out of the state in which CRIU reads them and
 * leaves them when the processes are not to run on: a socket that is closed in it tells nobody, and one that is used in it
 * fails. Does nothing about the others. Rejects as `freeze`.
 */
export const endRepair = async (cgroup: Pick<Cgroup, 'freeze' | 'members'>): Promise<void> => {
  // Of a process that runs, a copy may be the last that is left of a socket by the time it is closed here, and closing that one
  // may wait for what it still has to send.
  await cgroup.freeze();
  const turns = createTurns();
  const seen = new Set<string>();
  for (const descriptor of listDescriptors(await cgroup.members())) {
    const link = readDescriptor(descriptor);
    if (link.startsWith('socket:') && !seen.has(link)) {
      seen.add(link);
      endRepairOf(descriptor);
    }
    await turns();
  }
};

const endRepairOf = ({ pid, name }: Descriptor): void => {
  const process = nativeSyscall(SYS_PIDFD_OPEN, pid, 0, 0) as number;
  if (process < 0) return;
  try {
    const socket = nativeSyscall(SYS_PIDFD_GETFD, process, Number(name), 0) as number;
    if (socket < 0) return;
    try {
      leaveRepair(socket);
    } finally {
      closeSync(socket);
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
