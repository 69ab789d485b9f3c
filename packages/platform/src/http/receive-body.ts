import type { IncomingMessage } from 'node:http';
import { invalid } from '@skerry/contract/error';

/** The time that clients wait for an upload. */
const MAX_UPLOAD_MS = 60 * 60_000;
/** How long the rest of a refused body is read, so that the client gets the answer. */
const MAX_REST_MS = 1_000;

/**
 * Passes the body of a request to `take` as it arrives, for an hour at most, and settles as that does. `what` names what the
 * body must be: a request without one is refused with `invalid_argument`.
 */
export const receiveBody = async (
  { raw, body, headers }: { raw: IncomingMessage; body: unknown; headers: IncomingMessage['headers'] },
  what: string,
  take: (body: AsyncIterable<Uint8Array>, options: { declaredBytes?: number }) => Promise<void>,
): Promise<void> => {
  if (body === undefined || body === null) throw invalid(`the body must be ${what}`);
  const declared = headers['content-length'];
  const late = setTimeout(() => raw.destroy(), MAX_UPLOAD_MS);
  try {
    await take(raw.iterator({ destroyOnReturn: false }), {
      ...(declared !== undefined && { declaredBytes: Number(declared) }),
    });
  } finally {
    clearTimeout(late);
    // An unread rest of the body would stay in the connection and be parsed as the next request.
    raw.resume();
    if (!raw.complete) setTimeout(() => raw.destroy(), MAX_REST_MS).unref();
  }
};
