import { closeSync } from 'node:fs';
import { libc } from '../../../../kernel/native.ts';
import type { Descriptor } from './list-descriptors.ts';

// Numbers since 5.3 and 5.6, the same on every architecture.
const SYS_PIDFD_OPEN = 434;
const SYS_PIDFD_GETFD = 438;

const nativeSyscall = libc.func('long syscall(long, int, int, int)');

/**
 * Calls `use` with a duplicate of the descriptor in this process, and closes the duplicate afterwards. Does nothing when the process
 * has ended or the descriptor was closed.
 *
 * The process must be frozen. One that runs may close its own descriptor meanwhile. The duplicate is then the last one, and closing the
 * last one of a socket may wait for unsent data.
 */
export const borrowDescriptor = ({ pid, name }: Descriptor, use: (fd: number) => void): void => {
  const pidfd = nativeSyscall(SYS_PIDFD_OPEN, pid, 0, 0) as number;
  if (pidfd < 0) return;
  try {
    const duplicate = nativeSyscall(SYS_PIDFD_GETFD, pidfd, Number(name), 0) as number;
    if (duplicate < 0) return;
    try {
      use(duplicate);
    } finally {
      closeSync(duplicate);
    }
  } finally {
    closeSync(pidfd);
  }
};
