import { UserError } from '@skerry/server/user-error';
import { toSignalStatus } from '../exit-status.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work whose signal aborts at the first SIGINT, SIGTERM or SIGHUP, and waits until it has undone what it had begun. Then it
 * rejects with `UserError`, and the status of this process is that of the signal. A second signal ends this process at once.
 */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupting = new AbortController();
  let by: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals): void => {
    by ??= signal;
    interrupting.abort();
    stopListening();
  };
  const stopListening = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    return await work(interrupting.signal);
  } catch (error) {
    if (by === undefined) throw error;
    process.exitCode = toSignalStatus(by);
    throw new UserError('interrupted', { cause: error });
  } finally {
    stopListening();
  }
}
