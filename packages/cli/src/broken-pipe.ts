import { toSignalStatus } from './exit-status.ts';

const cleanups: (() => Promise<unknown>)[] = [];

/** Runs `cleanup` before this process ends because the reader of its output has gone, as in `skerry sandbox logs ID | head`. */
export const beforeBrokenPipe = (cleanup: () => Promise<unknown>): void => void cleanups.push(cleanup);

/** Ends this process without a word when the reader of its output has gone, with the status that SIGPIPE stands for. */
export function endOnBrokenPipe(): void {
  const end = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    const exit = (): never => process.exit(toSignalStatus('SIGPIPE'));
    void Promise.allSettled(cleanups.map((cleanup) => cleanup())).then(exit);
  };
  process.stdout.on('error', end);
  process.stderr.on('error', end);
}
