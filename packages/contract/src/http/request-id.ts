import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The header that identifies a request, in requests and responses, in lower case. */
export const REQUEST_ID = 'x-request-id';

const ids = new WeakMap<IncomingMessage, string>();

/**
 * The id of a request, in its response and in the log: the value of `X-Request-Id` if that is 1 to 64 letters, digits,
 * `_`, `.` and `-`, and a new UUID otherwise. Each call with one request returns the same id.
 */
export const requestIdOf = (request: IncomingMessage): string => {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const given = request.headers[REQUEST_ID];
  const id = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
  ids.set(request, id);
  return id;
};
