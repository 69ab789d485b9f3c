import { createYielder } from '../../../../concurrency/yielder.ts';
import { ioctl } from '../../../../kernel/syscalls.ts';
import { borrowDescriptor } from './borrow-descriptor.ts';
import { listDescriptors, readDescriptor } from './descriptors.ts';

/** asm-generic/ioctls.h: the bytes that can be read. */
const FIONREAD = 0x541b;

/**
 * Whether a watch of the processes, which are frozen, has events that none of them has read. CRIU restores a watch without them
 * (criu/fsnotify.c), and a program that waits for one of them would wait for ever.
 */
export const hasUnreadEvents = async (pids: readonly number[]): Promise<boolean> => {
  const yielder = createYielder();
  const size = Buffer.alloc(4);
  for (const descriptor of listDescriptors(pids)) {
    if (readDescriptor(descriptor) === 'anon_inode:inotify') {
      borrowDescriptor(descriptor, (fd) => ioctl(fd, FIONREAD, size));
      if (size.readInt32LE() > 0) return true;
    }
    await yielder();
  }
  return false;
};
