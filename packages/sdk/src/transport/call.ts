import { SandboxError, toSandboxError } from '../errors.ts';
import { fromConnect } from './from-connect.ts';

export interface CallOptions {
  /** Aborting it ends the call, which rejects with the code `canceled` and the signal's reason as its cause. */
  signal?: AbortSignal | undefined;
  /**
   * How long to wait for a response, in milliseconds. 0 waits forever. Default 60 000, or the value that the sandbox
   * was created with.
   */
  requestTimeoutMs?: number | undefined;
}

/** @internal */
export interface Call {
  /** Aborts with the caller's signal and, until `stopClock`, when the timeout expires. */
  readonly signal: AbortSignal;
  stopClock(): void;
  /** Removes the listener from the caller's signal. Idempotent. */
  end(): void;
  /** Maps an error that the call threw. */
  explain(error: unknown): SandboxError;
}

/**
 * Starts the timeout of one call. The caller must call `end`.
 *
 * @internal
 */
export function startCall({ signal: outer, ...options }: CallOptions, defaultTimeoutMs: number): Call {
  const requestTimeoutMs = options.requestTimeoutMs ?? defaultTimeoutMs;
  const controller = new AbortController();
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted) follow();
  outer?.addEventListener('abort', follow);
  let isLate = false;
  const timer =
    requestTimeoutMs > 0 ? setTimeout(expire, Math.min(requestTimeoutMs, 0x7fff_ffff)) : undefined;
  function expire(): void {
    isLate = true;
    controller.abort(new DOMException('the time is up', 'TimeoutError'));
  }
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      outer?.removeEventListener('abort', follow);
    },
    explain(error) {
      if (error instanceof SandboxError) return error;
      if (outer?.aborted) return toSandboxError('canceled', 'the call was aborted', { cause: outer.reason });
      if (isLate)
        return toSandboxError('timeout', `no response within ${requestTimeoutMs} ms`, { cause: error });
      return fromConnect(error);
    },
  };
}

/**
 * Runs one call with its timeout and signal, and maps the error that it throws.
 *
 * @internal
 */
export async function runCall<T>(
  options: CallOptions,
  defaultTimeoutMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const call = startCall(options, defaultTimeoutMs);
  try {
    return await run(call.signal);
  } catch (error) {
    throw call.explain(error);
  } finally {
    call.end();
  }
}
