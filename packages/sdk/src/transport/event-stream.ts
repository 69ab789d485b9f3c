import { SandboxError, toSandboxError } from '../errors.ts';
import type { Agent } from './agent.ts';
import { type CallOptions, startCall } from './call.ts';
import { fromConnect } from './from-connect.ts';

export interface EventStream<M> {
  /** The first message. */
  first: M;
  /** The messages after the first. */
  rest: AsyncIterable<M>;
  /** Abort it to end the stream and free the connection. The reader of the stream must abort it at the end. */
  stream: AbortController;
}

/**
 * Sent with streams: the interval, in seconds, at which the agent sends keepalives, so that proxies keep idle
 * connections open.
 */
export const keepaliveHeader = { 'Keepalive-Ping-Interval': '50' };

/**
 * Opens a stream and waits for its first message, for at most the request timeout. After that only the caller's signal
 * and `stream` end it from this side.
 */
export async function openStream<M>(
  agent: Agent,
  options: CallOptions,
  open: (signal: AbortSignal) => AsyncIterable<M>,
): Promise<EventStream<M>> {
  const call = startCall(options, agent.requestTimeoutMs);
  const stream = new AbortController();
  const stop = (): void => stream.abort(call.explain(call.signal.reason));
  if (call.signal.aborted) stop();
  call.signal.addEventListener('abort', stop);
  stream.signal.addEventListener('abort', () => call.end());
  try {
    const iterator = open(stream.signal)[Symbol.asyncIterator]();
    const first = await iterator.next();
    if (first.done) throw toSandboxError('internal', 'the stream ended before its first message');
    call.stopClock();
    return { first: first.value, rest: { [Symbol.asyncIterator]: () => iterator }, stream };
  } catch (error) {
    const reason: unknown = stream.signal.reason;
    stream.abort();
    call.end();
    throw reason instanceof SandboxError ? reason : fromConnect(error);
  }
}

/**
 * The error of a stream that broke after its first message. A broken connection alone does not show whether the
 * sandbox or the network failed, so this asks the agent.
 */
export async function explainLostStream(
  agent: Agent,
  signal: AbortSignal,
  error: unknown,
): Promise<SandboxError> {
  if (signal.reason instanceof SandboxError) return signal.reason;
  const explained = fromConnect(error);
  const isAmbiguous = ['connection_failed', 'invalid_argument', 'unavailable', 'internal'].includes(
    explained.code,
  );
  if (error instanceof SandboxError || !isAmbiguous) return explained;
  // An unreachable agent decides nothing, so the first error stays.
  const isRunning = await agent.probe().catch(() => undefined);
  if (isRunning === false) {
    return toSandboxError('sandbox_unavailable', 'the sandbox ended', { cause: error });
  }
  if (explained.code === 'internal' || explained.code === 'connection_failed') return explained;
  return toSandboxError('connection_failed', `the stream broke: ${explained.message}`, { cause: error });
}
