import { createYielder } from '../../../../concurrency/yielder.ts';
import { ioctl, SyscallError } from '../../../../kernel/syscalls.ts';
import { ObstacleError } from '../../../../obstacle.ts';
import { borrowDescriptor } from '../descriptors/borrow-descriptor.ts';
import { listDescriptors, readDescriptor } from '../descriptors/list-descriptors.ts';
import { observeProcess } from '../processes/observe-process.ts';

/** asm-generic/ioctls.h: the bytes that can be read. */
const FIONREAD = 0x541b;

/**
 * Whether a watch of the processes, which are frozen, has events that none of them has read. CRIU restores a watch without its unread
 * events (criu/fsnotify.c), and a program that waits for one of them waits for ever. Rejects with an `ObstacleError` when a watch is open as a
 * path only, `O_PATH`: CRIU cannot open it so again.
 */
export const hasUnreadEvents = async (pids: readonly number[]): Promise<boolean> => {
  const yielder = createYielder();
  for (const descriptor of listDescriptors(pids)) {
    if (readDescriptor(descriptor) === 'anon_inode:inotify') {
      let sizeBytes = 0;
      borrowDescriptor(descriptor, (fd) => {
        sizeBytes = readUnreadBytes(fd, descriptor.pid);
      });
      if (sizeBytes > 0) return true;
    }
    await yielder();
  }
  return false;
};

const readUnreadBytes = (fd: number, pid: number): number => {
  const size = Buffer.alloc(4);
  try {
    ioctl(fd, FIONREAD, size);
  } catch (cause) {
    // A path has no such call.
    if (!(cause instanceof SyscallError) || cause.code !== 'EBADF') throw cause;
    throw new ObstacleError({ kind: 'path_only', process: observeProcess(pid) }, { cause });
  }
  return size.readInt32LE();
};
