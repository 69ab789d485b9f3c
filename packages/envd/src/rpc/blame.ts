import { Code, ConnectError, createContextKey, type Interceptor } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';

/** Whether an internal error is one of ours. Until a request has been read it is not. */
export const IS_OURS = createContextKey(false);

const BODY = Buffer.from(
  JSON.stringify({ code: 'invalid_argument', message: 'the body is not a message of this call' }),
);

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* blame(messages: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* messages;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    if (code !== Code.Internal && code !== Code.DataLoss) throw error;
    throw new ConnectError(rawMessage, Code.InvalidArgument, undefined, undefined, error);
  }
}

/**
 * connect-es calls a binary message, an envelope and a compressed body that it cannot read an internal error, while JSON that
 * it cannot read is the caller's. With this and `withBlame` all of them are `invalid_argument`.
 */
export const blameCaller: Interceptor = (next) => (request) => {
  request.contextValues.set(IS_OURS, true);
  if (!request.stream) return next(request);
  return next({ ...request, message: blame(request.message) as typeof request.message });
};

/** The other half of `blameCaller`: no interceptor sees a unary call whose message could not be read. */
export const withBlame = (handler: UniversalHandler): UniversalHandler =>
  Object.assign(async (request: Parameters<UniversalHandler>[0]) => {
    const response = await handler(request);
    if (response.status !== 500 || request.contextValues?.get(IS_OURS) === true) return response;
    response.header?.set('content-length', String(BODY.length));
    response.header?.delete('content-encoding');
    return { ...response, status: 400, body: once(BODY) };
  }, handler);
