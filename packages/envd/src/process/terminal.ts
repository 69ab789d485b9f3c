import { closeSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@skerry/contract/error';
import { resizePty } from './open-pty.ts';
import type { TerminalSize } from './terminal-size.ts';

/** The master side of the terminal of one process. */
export interface Terminal {
  /** Types: resolves when the kernel has taken all bytes, in the order of the calls. Rejects with `internal` after the end. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Programs on the terminal get SIGWINCH. Throws `internal` after the end. */
  resize(size: TerminalSize): void;
  /** Idempotent. */
  close(): void;
}

const FIRST_WAIT_MS = 1;
const MAX_WAIT_MS = 100;

/**
 * Takes over `fd`, a descriptor of the master side that does not block.
 *
 * Not a stream of Node: libuv writes to every terminal that it cannot open anew as to a blocking file and would spin, with the
 * whole agent, as long as a program does not read. So a full terminal is tried again after a while, which is rare: the kernel
 * itself keeps some kilobytes.
 */
export const createTerminal = (fd: number, pid: number): Terminal => {
  let isClosed = false;
  let last: Promise<void> = Promise.resolve();
  const assertOpen = (): void => {
    if (isClosed) throw new ApiError('internal', `the terminal of process ${pid} is closed`);
  };

  const tryWrite = (bytes: Uint8Array, at: number): number => {
    assertOpen();
    try {
      return writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      throw new ApiError('internal', `cannot write to the terminal of process ${pid}`, {
        cause: error,
      });
    }
  };

  const writeAll = async (bytes: Uint8Array, signal: AbortSignal): Promise<void> => {
    let waitMs = FIRST_WAIT_MS;
    for (let at = 0; at < bytes.length; ) {
      signal.throwIfAborted();
      const count = tryWrite(bytes, at);
      at += count;
      waitMs = count > 0 ? FIRST_WAIT_MS : Math.min(MAX_WAIT_MS, waitMs * 2);
      if (at < bytes.length) await delay(waitMs, undefined, { signal });
    }
  };

  return {
    write(bytes, signal) {
      const writing = last.then(() => writeAll(bytes, signal));
      // The next write waits for this one, also when it fails.
      last = writing.catch(() => undefined);
      return writing;
    },
    resize(size) {
      assertOpen();
      resizePty(fd, size);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      closeSync(fd);
    },
  };
};
