import { ConnectError, type Interceptor } from '@connectrpc/connect';
import { RuntimeError, toRuntimeError } from '../error.ts';
import { toConnectError } from './failure.ts';

/**
 * Tells the client of what a call threw by code and message, and `onError` of its cause as well. A service that has errors of its own
 * throws a ConnectError. What else is thrown in a call that its client has left is the abort: neither hears of it.
 */
export const createFailureInterceptor =
  (onError: (error: Error) => void): Interceptor =>
  (next) =>
  async (request) => {
    const toFailure = (error: unknown): Error => {
      if (error instanceof ConnectError) return error;
      if (request.signal.aborted && !(error instanceof RuntimeError)) return error as Error;
      const failure = toRuntimeError(error, request.method.localName);
      if (failure.code === 'internal' || failure.cause !== undefined) onError(failure);
      return toConnectError(failure);
    };
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: readAll(response.message as AsyncIterable<never>, toFailure) };
    } catch (error) {
      throw toFailure(error);
    }
  };

async function* readAll(messages: AsyncIterable<never>, toFailure: (error: unknown) => Error) {
  try {
    yield* messages;
  } catch (error) {
    throw toFailure(error);
  }
}
