import { closeSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { createErrnoError, lib } from '../system/libc.ts';

/** Bits of inotify(7). */
export const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  UNMOUNT: 0x2000,
  Q_OVERFLOW: 0x4000,
  IGNORED: 0x8000,
  ONLYDIR: 0x0100_0000,
  DONT_FOLLOW: 0x0200_0000,
  ISDIR: 0x4000_0000,
} as const;

const CHANGES =
  IN.MODIFY |
  IN.ATTRIB |
  IN.MOVED_FROM |
  IN.MOVED_TO |
  IN.CREATE |
  IN.DELETE |
  IN.DELETE_SELF |
  IN.MOVE_SELF |
  IN.ONLYDIR;

const cInit = lib.func('int inotify_init1(int flags)');
const cAddWatch = lib.func('int inotify_add_watch(int fd, const char *path, uint32_t mask)');
const cRemoveWatch = lib.func('int inotify_rm_watch(int fd, int wd)');
const cIoctl = lib.func('int ioctl(int fd, unsigned long request, ...)');

const readPromised = promisify(read);

const IN_CLOEXEC = 0o2000000;
const FIONREAD = 0x541b;
const HEADER_BYTES = 16;
const READ_BYTES = 64 * 1024;

export interface InotifyEvent {
  /** The watch descriptor; the kernel gives the same one for the same directory. */
  wd: number;
  mask: number;
  /** Joins the two halves of a rename. */
  cookie: number;
  /** Empty when the watched directory itself is meant. */
  name: string;
  /** How many bytes the kernel had delivered up to and with this event. */
  position: number;
}

export interface Inotify {
  /** Watches a directory; throws the errno of inotify_add_watch(2). */
  add(path: string, options: { followLink: boolean }): number;
  /** Does nothing when the watch is gone already. */
  remove(wd: number): void;
  /**
   * The position behind everything that has happened by now. Only meaningful while `onEvent` runs: outside of it a read is
   * under way, and what it has taken from the kernel is not counted.
   */
  horizon(): number;
}

/**
 * Opens one inotify instance and reports its events one by one, in order. Reading waits in a thread of the pool, and the next
 * read starts only when all events of the last are handled.
 */
export const createInotify = (options: {
  /** The next event comes when this has resolved. */
  onEvent: (event: InotifyEvent) => Promise<void>;
  onError: (error: Error) => void;
}): Inotify => {
  const fd: number = cInit(IN_CLOEXEC);
  if (fd < 0) throw createErrnoError('inotify_init1');
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const pending = Buffer.alloc(4);
  let delivered = 0;

  const parse = async (length: number): Promise<void> => {
    const base = delivered;
    delivered += length;
    for (let at = 0; at < length; ) {
      const nameBytes = buffer.readUInt32LE(at + 12);
      const start = at + HEADER_BYTES;
      const end = start + nameBytes;
      const nul = buffer.indexOf(0, start);
      const event = {
        wd: buffer.readInt32LE(at),
        mask: buffer.readUInt32LE(at + 4),
        cookie: buffer.readUInt32LE(at + 8),
        name: nameBytes === 0 ? '' : buffer.toString('utf8', start, nul === -1 ? end : Math.min(nul, end)),
        position: base + end,
      };
      at = end;
      await options.onEvent(event);
    }
  };

  const readOn = async (): Promise<never> => {
    for (;;) {
      const { bytesRead } = await readPromised(fd, buffer, 0, buffer.length, null);
      await parse(bytesRead);
    }
  };
  readOn().catch((error: Error) => {
    closeSync(fd);
    options.onError(error);
  });

  return {
    add(path, { followLink }) {
      const wd: number = cAddWatch(fd, path, followLink ? CHANGES : CHANGES | IN.DONT_FOLLOW);
      if (wd < 0) throw createErrnoError('inotify_add_watch');
      return wd;
    },
    remove(wd) {
      cRemoveWatch(fd, wd);
    },
    horizon() {
      if (cIoctl(fd, FIONREAD, 'void *', pending) < 0) throw createErrnoError('ioctl');
      return delivered + pending.readInt32LE(0);
    },
  };
};
