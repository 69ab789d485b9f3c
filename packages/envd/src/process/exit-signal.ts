import { closeSync } from 'node:fs';
import { lib } from '../system/libc.ts';

const cSyscall = lib.func('long syscall(long number, ...)');
const cIoctl = lib.func('int ioctl(int fd, unsigned long request, ...)');

/** x86-64 and arm64 have one number for it. */
const SYS_PIDFD_OPEN = 434;
/** `_IOWR(0xFF, 11, struct pidfd_info)` with the struct's first size (linux/pidfd.h). */
const PIDFD_GET_INFO = 0xc040ff0b;
const PIDFD_INFO_EXIT = 8;
const INFO_BYTES = 64;
const EXIT_CODE_AT = 60;

/** Reads the signal that ended a process, once. Undefined when no signal did, or when the kernel does not report it. */
export type ReadExitSignal = () => number | undefined;

/**
 * Opens a descriptor of the child `pid`, which has not been reaped yet, so that its status can be read after its end. Call the
 * returned function exactly once, after the end.
 *
 * Node names a signal by its table, has no name for the real-time ones (signal(7)) and reports such an end as exit code 0. Linux 6.15
 * and later keep the whole status for holders of a descriptor of the process; older kernels do not.
 */
export const holdExitSignal = (pid: number): ReadExitSignal => {
  const fd = Number(cSyscall(SYS_PIDFD_OPEN, 'int', pid, 'unsigned int', 0));
  return () => {
    // No descriptor was free: the result is what Node reports.
    if (fd < 0) return undefined;
    const info = Buffer.alloc(INFO_BYTES);
    info.writeUInt32LE(PIDFD_INFO_EXIT, 0);
    const result = cIoctl(fd, PIDFD_GET_INFO, 'void *', info);
    closeSync(fd);
    if (result < 0 || (info.readUInt32LE(0) & PIDFD_INFO_EXIT) === 0) return undefined;
    // The lowest seven bits of a status (wait(2)).
    return info.readInt32LE(EXIT_CODE_AT) & 0x7f || undefined;
  };
};
