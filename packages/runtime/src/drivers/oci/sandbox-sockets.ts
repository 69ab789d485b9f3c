import { closeSync } from 'node:fs';
import koffi from 'koffi';
import type { Cgroup } from './cgroup.ts';
import { type Descriptor, listDescriptors, readDescriptor } from './descriptors.ts';
import { createTurns } from './turns.ts';

// Numbers since 5.3 and 5.6, the same on every architecture.
const SYS_PIDFD_OPEN = 434;
const SYS_PIDFD_GETFD = 438;

const libc = koffi.load(null);
const nativeSyscall = libc.func('long syscall(long, int, int, int)');
const nativeGet = libc.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ void *)');
const nativeSet = libc.func('int setsockopt(int, int, int, const void *, unsigned int)');

/** One option, a number, of a socket of a sandbox. */
export interface SocketOption {
  level: number;
  name: number;
}

/** A socket of a sandbox, as long as it is visited. */
export interface SandboxSocket {
  /** Undefined when a socket of this kind has none. */
  get(option: SocketOption): number | undefined;
  /** Does nothing when a socket of this kind, or in this state, has none. */
  set(option: SocketOption, value: number): void;
}

/**
 * Calls `visit` once for each socket of the processes, which it freezes where they are not. Rejects as `freeze`, and with what
 * `visit` throws.
 */
export const visitSockets = async (
  cgroup: Pick<Cgroup, 'freeze' | 'members'>,
  visit: (socket: SandboxSocket) => void,
): Promise<void> => {
  // Of a process that runs, a copy may be the last that is left of a socket by the time it is closed here, and closing that one
  // may wait for what it still has to send.
  await cgroup.freeze();
  const turns = createTurns();
  const seen = new Set<string>();
  for (const descriptor of listDescriptors(await cgroup.members())) {
    const link = readDescriptor(descriptor);
    if (link.startsWith('socket:') && !seen.has(link)) {
      seen.add(link);
      visitSocket(descriptor, visit);
    }
    await turns();
  }
};

const visitSocket = ({ pid, name }: Descriptor, visit: (socket: SandboxSocket) => void): void => {
  const process = nativeSyscall(SYS_PIDFD_OPEN, pid, 0, 0) as number;
  if (process < 0) return;
  try {
    const socket = nativeSyscall(SYS_PIDFD_GETFD, process, Number(name), 0) as number;
    if (socket < 0) return;
    try {
      visit(toSocket(socket));
    } finally {
      closeSync(socket);
    }
  } finally {
    closeSync(process);
  }
};

const toSocket = (fd: number): SandboxSocket => ({
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
});
