import type { Interceptor } from '@connectrpc/connect';

/** The pending calls of a server, also those whose client has disconnected. */
export interface UnderWay {
  interceptor: Interceptor;
  /** Resolves when no call is pending. Abort the calls first. */
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
   * Ends the stream when its client has disconnected. connect-es may wait forever for room in a closed connection: it reads
   * no further message then, and never releases what the stream holds.
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
