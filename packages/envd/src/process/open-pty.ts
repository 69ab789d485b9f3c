import { closeSync, constants, openSync } from 'node:fs';
import { createErrnoError, lib } from '../system/libc.ts';
import type { TerminalSize } from './terminal-size.ts';

const cIoctl = lib.func('int ioctl(int fd, unsigned long request, ...)');

/** Requests of ioctl_tty(2); the same numbers on x86-64 and arm64. */
const TCGETS = 0x5401;
const TCSETS = 0x5402;
const TIOCSWINSZ = 0x5414;
const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const TIOCGPTN = 0x80045430;
/** Deleting a character in the kernel's own line editing then deletes all its bytes (termios(3)). */
const IUTF8 = 0x4000;
const TERMIOS_BYTES = 64;

const check = (result: number): number => {
  if (result < 0) throw createErrnoError('ioctl');
  return result;
};

/** Throws the errno of the call. */
export const resizePty = (fd: number, { cols, rows }: TerminalSize): void => {
  const size = new Uint16Array([rows, cols, 0, 0]);
  check(cIoctl(fd, TIOCSWINSZ, 'void *', size));
};

/**
 * Opens a new pseudoterminal (pty(7)) of this size: the master side, which does not block, and the side for the process. Both
 * are closed on exec. Throws the errno of what failed.
 */
export const openPty = (size: TerminalSize): { masterFd: number; slaveFd: number } => {
  const masterFd = openSync('/dev/ptmx', constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
  try {
    check(cIoctl(masterFd, TIOCSPTLCK, 'void *', new Int32Array([0])));
    const settings = Buffer.alloc(TERMIOS_BYTES);
    check(cIoctl(masterFd, TCGETS, 'void *', settings));
    settings.writeUInt32LE(settings.readUInt32LE(0) | IUTF8, 0);
    check(cIoctl(masterFd, TCSETS, 'void *', settings));
    resizePty(masterFd, size);
    return { masterFd, slaveFd: openSlave(masterFd) };
  } catch (error) {
    closeSync(masterFd);
    throw error;
  }
};

const openSlave = (masterFd: number): number => {
  // O_CLOEXEC, which Node does not name.
  const flags = constants.O_RDWR | constants.O_NOCTTY | 0o2000000;
  const fd: number = cIoctl(masterFd, TIOCGPTPEER, 'int', flags);
  if (fd >= 0) return fd;
  const error = createErrnoError('ioctl');
  if (error.code !== 'ENOTTY') throw error;
  // gVisor knows it by its name only.
  const number = new Uint32Array(1);
  check(cIoctl(masterFd, TIOCGPTN, 'void *', number));
  return openSync(`/dev/pts/${number[0]}`, flags);
};
