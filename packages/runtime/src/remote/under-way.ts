import type { Interceptor } from '@connectrpc/connect';

/** What the calls of a server are still doing, also those whose client has gone. */
export interface UnderWay {
  interceptor: Interceptor;
  /** Resolves when no call does anything any more; they are to be told to end before. */
  settled(): Promise<void>;
}

export function createUnderWay(): UnderWay {
  const underWay = new Set<Promise<unknown>>();
  const add = (work: Promise<unknown>): void => {
    const settle = (): void => void underWay.delete(work);
    underWay.add(work);
    work.then(settle, settle);
  };

  /**
   * Ends the stream when its client has gone. connect-es may wait for ever for room in a connection that is closed: it asks for no further
   * message then, and does not let go of what the stream holds.
   */
  const endWith = <T>(messages: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> => {
    const iterator = messages[Symbol.asyncIterator]();
    const end = (): void => {
      if (iterator.return) add(iterator.return());
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    return { [Symbol.asyncIterator]: () => iterator };
  };

  return {
    interceptor: (next) => async (request) => {
      const answer = next(request);
      add(answer);
      const response = await answer;
      if (!response.stream) return response;
      return { ...response, message: endWith(response.message as AsyncIterable<never>, request.signal) };
    },
    settled: async () => {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
