import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { RuntimeError, RuntimeLostError, toRuntimeError } from '../error.ts';
import { toConnectError } from './failure.ts';

/**
 * Sends the code and the message of an error to the client, and passes the error with its cause to `onError`. A service
 * with other errors throws a ConnectError, which is sent as it is. When the client has cancelled the call, an error that is
 * not a RuntimeError is the abort itself, and is not reported.
 */
export const createFailureInterceptor =
  (onError: (error: Error) => void): Interceptor =>
  (next) =>
  async (request) => {
    const toFailure = (error: unknown): Error => {
      if (error instanceof ConnectError) return error;
      if (request.signal.aborted && !(error instanceof RuntimeError)) return error as Error;
      // Send no detail: the client then takes it for the loss of the connection, which it is for the client
      // too.
      if (error instanceof RuntimeLostError) return new ConnectError(error.message, Code.Unavailable);
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
