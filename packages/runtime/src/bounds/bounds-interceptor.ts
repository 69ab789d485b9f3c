import type { Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { checkBounds } from './check-bounds.ts';

/** Refuses requests with a value outside of the bounds of their schema. An interceptor before it must translate the error. */
export const checkRequests: Interceptor = (next) => async (request) => {
  const check = (message: Message): void => checkBounds(request.method.input, message);
  if (!request.stream) {
    check(request.message);
    return next(request);
  }
  return next({ ...request, message: checkEach(request.message, check) });
};

async function* checkEach<M extends Message>(messages: AsyncIterable<M>, check: (message: M) => void) {
  for await (const message of messages) {
    check(message);
    yield message;
  }
}
