import { SandboxError, toSandboxError } from '../errors.ts';
import type { Agent } from '../transport/agent.ts';
import { type CallOptions, startCall } from '../transport/call.ts';
import { fromConnect } from '../transport/from-connect.ts';

export interface EventStream<M> {
  /** The first message. */
  first: M;
  /** All others. */
  rest: AsyncIterable<M>;
  /** Aborting it ends the stream and gives the connection back. Whoever reads the stream aborts it at the end. */
  stream: AbortController;
}

/** Sent with streams: how often, in seconds, the agent breaks a silence, so that no proxy closes the connection. */
export const keepaliveHeader = { 'Keepalive-Ping-Interval': '50' };

/**
 * Opens a stream and waits for its first message, which the request timeout bounds. After that only the caller's signal and
 * `stream` end it from this side.
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
 * The error of a stream that broke after its first message. A broken connection alone does not say whether the sandbox ended
 * or the network did, so the agent is asked.
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
  // An agent that cannot be asked settles nothing, and the first error stands.
  const isRunning = await agent.probe().catch(() => undefined);
  if (isRunning === false) {
    return toSandboxError('sandbox_unavailable', 'the sandbox ended', { cause: error });
  }
  if (explained.code === 'internal' || explained.code === 'connection_failed') return explained;
  return toSandboxError('connection_failed', `the stream broke: ${explained.message}`, { cause: error });
}
