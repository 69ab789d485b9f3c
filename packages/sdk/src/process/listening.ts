import { toSandboxError } from '../errors.ts';

/** The end of everything that one handle listens to. */
export interface Listening {
  /** Aborted with the caller's signal, by then with `canceled`. */
  controller: AbortController;
  /** Lets go of the caller's signal. To be called once at the end. */
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
