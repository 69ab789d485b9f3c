/*
 * A call whose caller may call it off and still waits until everything that it made is gone. Its request is a stream of one message that the
 * caller holds open; the end of that stream calls the call off. Cancelling an HTTP/2 stream would not do: nothing can be answered on it
 * after that.
 */

/** Makes such a call, called off when the signal aborts. */
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
 * Reads the message of such a call. The returned signal aborts when the call is called off or its connection ends, whatever `signal`,
 * that of the whole call, says of it. Throws when there is no message.
 */
export async function readHeld<Request>(
  requests: AsyncIterable<Request>,
  signal: AbortSignal,
): Promise<{ request: Request; signal: AbortSignal }> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) throw signal.aborted ? signal.reason : new Error('the call has no message');
  const calledOff = new AbortController();
  const callOff = (): void => calledOff.abort();
  iterator.next().then(callOff, callOff);
  return { request: first.value, signal: AbortSignal.any([signal, calledOff.signal]) };
}
