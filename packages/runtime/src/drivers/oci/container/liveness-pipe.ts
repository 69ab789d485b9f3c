import { chownSync, closeSync, constants, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { makeFifo } from '../../../kernel/syscalls.ts';

/**
 * A named pipe whose writing end is inherited by every process that starts a sandbox or is its pid 1. When the last of
 * them has ended the kernel ends the stream: the reader is notified at once, without polling, also after this process
 * was killed and another one took over. Pid 1 of a pid namespace ends all other processes with it.
 */
export interface LivenessPipe {
  /** Resolves when no process holds the writing end any more. */
  readonly ended: Promise<void>;
  isEnded(): boolean;
  /** Closes the reading end; `ended` then never resolves. */
  close(): void;
}

/**
 * Makes the pipe for that `owner` of the host, and replaces that of the last run. The child inherits the writing end;
 * the caller closes its own after starting it.
 */
export const createLivenessPipe = (
  path: string,
  { owner }: { owner?: number } = {},
): { line: LivenessPipe; writeFd: number } => {
  rmSync(path, { force: true });
  makeFifo(path);
  if (owner !== undefined) chownSync(path, owner, owner);
  // The reading end first: without a reader the writing end cannot be opened.
  const readFd = openReader(path);
  return { line: listen(readFd), writeFd: openSync(path, constants.O_WRONLY) };
};

/**
 * Opens the pipe of a sandbox that is running. Undefined when there is none, or when no process holds its writing end.
 */
export const adoptLivenessPipe = (path: string): LivenessPipe | undefined => {
  let readFd: number;
  try {
    readFd = openReader(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (hasWriter(readFd)) return listen(readFd);
  closeSync(readFd);
  return undefined;
};

const openReader = (path: string): number =>
  openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);

const hasWriter = (fd: number): boolean => {
  try {
    // End of file at once: there is no writer. `listen` handles a byte, which proves that there is one.
    return readSync(fd, Buffer.alloc(1)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return true;
    throw error;
  }
};

const listen = (fd: number): LivenessPipe => {
  const socket = new Socket({ fd, readable: true, writable: false });
  let isEnded = false;
  let isClosed = false;
  const ended = new Promise<void>((resolve) => {
    // No process writes here. When root inside gets hold of the pipe and writes, its sandbox counts as ended.
    socket.on('data', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (isClosed) return;
      isEnded = true;
      resolve();
    });
  });
  socket.unref();
  return {
    ended,
    isEnded: () => isEnded,
    close: () => {
      isClosed = true;
      socket.destroy();
    },
  };
};
