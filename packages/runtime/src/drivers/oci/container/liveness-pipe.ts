import { chownSync, closeSync, constants, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { makeFifo } from '../../../kernel/syscalls.ts';

/**
 * A named pipe whose writing end every process that starts or is pid 1 of a sandbox inherits. When the last of them is
 * gone the kernel ends the stream: whoever listens knows at once, without asking, also after this process was killed
 * and another one took over. Pid 1 of a pid namespace takes all other processes with it.
 */
export interface LivenessPipe {
  /** Resolves when nobody holds the writing end any more. */
  readonly ended: Promise<void>;
  isEnded(): boolean;
  /** Lets go of the reading end; `ended` then never resolves. */
  close(): void;
}

/**
 * Makes the pipe, in place of one of the last run, for that `owner` of the host. The writing end is for the child to inherit; the
 * caller closes its own after starting it.
 */
export const createLivenessPipe = (
  path: string,
  { owner }: { owner?: number } = {},
): { line: LivenessPipe; writeFd: number } => {
  rmSync(path, { force: true });
  makeFifo(path);
  if (owner !== undefined) chownSync(path, owner, owner);
  // The reading end first: without a reader the writing one would not open.
  const readFd = openReader(path);
  return { line: listen(readFd), writeFd: openSync(path, constants.O_WRONLY) };
};

/** Takes up the line of a sandbox that runs already. Undefined when there is none, or nobody at its other end. */
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
    // End of file at once: no writer. A byte is a violation that `listen` deals with, but somebody wrote it.
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
    // Nobody has anything to say here. Root inside that gets hold of the pipe and writes has given its sandbox up.
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
