import { randomUUID } from 'node:crypto';
import { RuntimeError } from '../error.ts';

/*
 * A call that the caller can cancel, and that then still answers once everything it made has been removed. A second call
 * cancels it by the id that the caller has given it. Cancelling the HTTP/2 stream does not work here, as no response can
 * follow.
 */

/**
 * Makes such a call, and cancels it when the signal aborts. `cancel` reports whether the other process has begun the call
 * and not ended it. Settles as the call does.
 */
export async function callCancellable<Response>(
  call: (id: string) => Promise<Response>,
  { cancel, signal }: { cancel: (id: string) => Promise<boolean>; signal: AbortSignal | undefined },
): Promise<Response> {
  const id = randomUUID();
  if (!signal) return call(id);
  let isPending = true;
  const abort = async (): Promise<void> => {
    // The other process may handle the cancel before it has read the call.
    while (isPending && !(await cancel(id)));
  };
  // A cancel fails when the connection has ended, and then the call fails too.
  const listener = (): void => void abort().catch(() => undefined);
  const response = call(id);
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  try {
    return await response;
  } finally {
    isPending = false;
    signal.removeEventListener('abort', listener);
  }
}

/** The calls of this kind that a server has begun and not ended. */
export interface CancellableCalls {
  /**
   * Runs the work of a call. Its signal aborts when the call is cancelled, or with `signal`: the one of the HTTP/2 stream, which
   * ends with the connection. Rejects with `internal` when the id is empty or that of a pending call.
   */
  run<T>(id: string, options: { signal: AbortSignal }, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Returns whether a call with that id is pending. */
  cancel(id: string): boolean;
}

export function createCancellableCalls(): CancellableCalls {
  const pending = new Map<string, AbortController>();
  return {
    run: async (id, { signal }, work) => {
      if (id === '' || pending.has(id))
        throw new RuntimeError('internal', 'call must be an id that no other pending call has');
      const controller = new AbortController();
      const abort = (): void => controller.abort(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      pending.set(id, controller);
      try {
        return await work(controller.signal);
      } finally {
        pending.delete(id);
        signal.removeEventListener('abort', abort);
      }
    },
    cancel: (id) => {
      const controller = pending.get(id);
      controller?.abort();
      return controller !== undefined;
    },
  };
}
