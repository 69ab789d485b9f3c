import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '@skerry/contract/error';
import Negotiator from 'negotiator';

export type ContentEncoding = 'identity' | 'gzip';

/** The size from which compressing takes longer than it saves, unless the caller prefers gzip by weight. */
const MAX_IMPLICIT_GZIP_BYTES = 1024 * 1024;

const fastestFirst = ['identity', 'gzip', 'x-gzip'] as const;
const shortestFirst = ['gzip', 'x-gzip', 'identity'] as const;

/**
 * Chooses how to send a file (RFC 9110, 12.5.3). Of two encodings with the same weight identity wins, being the faster. An
 * `Accept-Encoding` that lists gzip and says nothing about identity gets gzip for small files.
 * Throws `not_acceptable` when identity is forbidden and gzip is not allowed either.
 */
export const chooseContentEncoding = (
  headers: IncomingHttpHeaders,
  { sizeBytes, identityOnly }: { sizeBytes: number; identityOnly: boolean },
): ContentEncoding => {
  // To negotiator, an identity that is not named weighs as much as the least that is.
  const header = String(headers['accept-encoding']);
  const namesIdentity = /identity|\*/i.test(header);
  const preferred = (
    namesIdentity || sizeBytes > MAX_IMPLICIT_GZIP_BYTES ? fastestFirst : shortestFirst
  ).filter((name) => name !== 'x-gzip' || /x-gzip/i.test(header)); // A star must not allow by this name what "gzip;q=0" forbids.
  const available = identityOnly ? (['identity'] as const) : preferred;
  const chosen = new Negotiator({ headers }).encoding(available, { preferred });
  if (chosen === undefined)
    throw new ApiError('not_acceptable', 'no acceptable encoding; supported encodings are identity and gzip');
  return chosen === 'identity' ? 'identity' : 'gzip';
};
