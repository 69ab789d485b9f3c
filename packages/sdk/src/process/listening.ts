import { toSandboxError } from '../errors.ts';

/** Ends the streams of one handle. */
export interface Listening {
  /** Aborted with the caller's signal, with `canceled` as the reason. */
  controller: AbortController;
  /** Removes the listener from the caller's signal. Call it once at the end. */
  release(): void;
}

export function startListening(signal: AbortSignal | undefined): Listening {
  const controller = new AbortController();
  const stop = (): void =>
    controller.abort(toSandboxError('canceled', 'the call was aborted', { cause: signal?.reason }));
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  return { controller, release: () => signal?.removeEventListener('abort', stop) };
}
