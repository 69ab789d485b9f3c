import type { Socket } from 'node:net';
import { ApiError } from '@skerry/contract/error';
import { createEventQueue, type EventQueue } from '../event-queue.ts';
import { type ExitStatus, toExitStatus } from './exit-status.ts';
import type { Spawned } from './spawn-process.ts';

export type ProcessOutput =
  | { case: 'stdout' | 'stderr'; value: Uint8Array }
  | { case: 'end'; value: ExitStatus };

export interface RunningProcess {
  readonly pid: number;
  /** Follows what the process writes from now on; `end` is the last event. Fails with `SlowReaderError`. */
  subscribe(): Subscription;
  /** Resolves when the bytes are accepted: written, or waiting in a bounded buffer. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Closing twice is fine. */
  closeStdin(): void;
  /** Signals this process only. From then on the end no longer waits for the output pipes to close. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): void;
}

export interface Subscription {
  queue: EventQueue<ProcessOutput>;
  unsubscribe(): void;
}

/** A subscriber was dropped because it did not keep up. */
export class SlowReaderError extends Error {}

export interface RunningProcessOptions {
  onEnd: (status: ExitStatus) => void;
  /** How long a process waits for its only readers before they are dropped. */
  stallMs?: number;
}

const MAX_CHUNK_BYTES = 32 * 1024;
/** A queue this long counts as full; the process is held back when every queue is. */
const FULL_BYTES = 1024 * 1024;
/** A queue this long is dropped: others kept reading, so nothing held the process back. */
const MAX_QUEUE_BYTES = 8 * 1024 * 1024;
const STALL_MS = 60_000;
const MAX_STDIN_BYTES = 1024 * 1024;
/** After a signal: time to read what the process had already written, even when a grandchild keeps the pipe open. */
const LAST_OUTPUT_MS = 50;

/** Takes over a process that was just spawned. Its output is read from the start, and dropped while nobody subscribes. */
export const createRunningProcess = (spawned: Spawned, options: RunningProcessOptions): RunningProcess => {
  const { pid, child, stdin, stdout, stderr } = spawned;
  const { onEnd, stallMs = STALL_MS } = options;
  const queues = new Set<EventQueue<ProcessOutput>>();
  let openPipes = 2;
  let status: ExitStatus | undefined;
  let isSignalled = false;
  let isEnded = false;
  let isHeldBack = false;
  let stall: NodeJS.Timeout | undefined;

  const drop = (isSlow: (queue: EventQueue<ProcessOutput>) => boolean): void => {
    for (const queue of queues) {
      if (!isSlow(queue)) continue;
      queues.delete(queue);
      queue.discard(
        new SlowReaderError('the reader is too slow: its output was dropped, the process goes on'),
      );
    }
  };

  const balance = (): void => {
    const isFull = (queue: EventQueue<ProcessOutput>): boolean => queue.sizeBytes >= FULL_BYTES;
    const holdBack = queues.size > 0 && [...queues].every(isFull);
    if (holdBack === isHeldBack) return;
    isHeldBack = holdBack;
    clearTimeout(stall);
    if (holdBack) {
      stdout.pause();
      stderr.pause();
      stall = setTimeout(() => {
        drop(isFull);
        balance();
      }, stallMs);
    } else {
      stdout.resume();
      stderr.resume();
    }
  };

  const publish = (event: ProcessOutput, sizeBytes: number): void => {
    for (const queue of queues) queue.push(event, sizeBytes);
  };

  const read = (pipe: Socket, kind: 'stdout' | 'stderr'): void => {
    pipe.on('data', (bytes: Buffer) => {
      if (queues.size === 0 || isEnded) return;
      for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES) {
        const value = bytes.subarray(at, at + MAX_CHUNK_BYTES);
        publish({ case: kind, value }, value.length);
      }
      drop((queue) => queue.sizeBytes > MAX_QUEUE_BYTES);
      balance();
    });
    pipe.on('error', () => pipe.destroy());
    pipe.once('close', () => {
      openPipes -= 1;
      endWhenDone();
    });
  };

  const end = (last: ExitStatus): void => {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(stall);
    stdin?.destroy();
    publish({ case: 'end', value: last }, 0);
    for (const queue of queues) queue.close();
    queues.clear();
    // A grandchild may go on writing: keep reading, or it would get a broken pipe.
    stdout.resume();
    stderr.resume();
    onEnd(last);
  };

  const endWhenDone = (): void => {
    if (status === undefined || isEnded) return;
    const last = status;
    if (openPipes === 0) end(last);
    else if (isSignalled) setTimeout(end, LAST_OUTPUT_MS, last);
  };

  read(stdout, 'stdout');
  read(stderr, 'stderr');
  // A broken pipe shows when the next write fails.
  stdin?.on('error', () => stdin.destroy());
  // Reported when a signal cannot be sent; the caller of kill learns nothing from it.
  child.on('error', () => undefined);
  child.once('exit', (code, signal) => {
    status = toExitStatus(code, signal);
    endWhenDone();
  });

  return {
    pid,
    subscribe() {
      const queue = createEventQueue<ProcessOutput>({ onDrain: () => isHeldBack && balance() });
      queues.add(queue);
      balance();
      return {
        queue,
        unsubscribe() {
          queues.delete(queue);
          balance();
        },
      };
    },
    async write(bytes, signal) {
      if (stdin === undefined) throw new ApiError('internal', `process ${pid} was started without stdin`);
      const closed = new ApiError('internal', `stdin of process ${pid} is closed`);
      if (!stdin.writable) throw closed;
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: unknown): void => {
          stdin.off('drain', onDrain);
          signal.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        };
        const onDrain = (): void => settle();
        const onAbort = (): void => settle(signal.reason);
        signal.addEventListener('abort', onAbort);
        stdin.on('drain', onDrain);
        stdin.write(bytes, (error) => settle(error ? closed : undefined));
        // Most writes go through at once; then the callback, which knows of a broken pipe, comes before this.
        setImmediate(() => stdin.writableLength <= MAX_STDIN_BYTES && settle());
      });
    },
    closeStdin() {
      stdin?.end();
    },
    kill(signal) {
      isSignalled = true;
      child.kill(signal);
      endWhenDone();
    },
  };
};
