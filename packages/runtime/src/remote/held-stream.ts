/*
 * A call that the caller can cancel, and that then still answers once everything it made has been removed. The request is a
 * stream of one message. The caller keeps the stream open; its end cancels the call. Cancelling the HTTP/2 stream does not
 * work here, as no response can follow.
 */

/** Makes such a call, and cancels it when the signal aborts. */
export async function callHeld<Request, Response>(
  call: (requests: AsyncIterable<Request>) => Promise<Response>,
  request: Request,
  signal?: AbortSignal,
): Promise<Response> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const abort = (): void => release();
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) release();
  async function* hold(): AsyncGenerator<Request> {
    yield request;
    await released;
  }
  try {
    return await call(hold());
  } finally {
    signal?.removeEventListener('abort', abort);
    release();
  }
}

/**
 * Reads the message of such a call. The returned signal aborts when the caller cancels the call or its connection ends;
 * `signal`, the one of the HTTP/2 stream, covers the connection only. Throws when there is no message.
 */
export async function readHeld<Request>(
  requests: AsyncIterable<Request>,
  signal: AbortSignal,
): Promise<{ request: Request; signal: AbortSignal }> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) throw signal.aborted ? signal.reason : new Error('the call has no message');
  const cancelled = new AbortController();
  const cancel = (): void => cancelled.abort();
  iterator.next().then(cancel, cancel);
  return { request: first.value, signal: AbortSignal.any([signal, cancelled.signal]) };
}
