import type { Interceptor } from '@connectrpc/connect';
import { inSpan } from '@skerry/contract/tracing';

const TRACEPARENT = 'traceparent';
/** The trailer with the time that a call took, in milliseconds. */
const DURATION = 'skerry-duration-ms';

/** Records each call to another process, and the time that it took there, as parts of the work that it is made for. */
export const traceCalls: Interceptor = (next) => (request) =>
  inSpan(
    () => ({ name: `${request.service.name}/${request.method.name}` }),
    async (span) => {
      if (span === undefined) return next(request);
      request.header.set(TRACEPARENT, span.traceparent);
      const response = await next(request);
      const duration = Number(response.trailer.get(DURATION) ?? Number.NaN);
      if (duration >= 0) span.add(`${request.service.name}/${request.method.name} in the helper`, duration);
      return response;
    },
  );

/** Sends the time of each call that is traced. */
export const sendDurations: Interceptor = (next) => async (request) => {
  if (!request.header.has(TRACEPARENT)) return next(request);
  const begin = performance.now();
  const response = await next(request);
  if (!response.stream) response.trailer.set(DURATION, (performance.now() - begin).toFixed(3));
  return response;
};
