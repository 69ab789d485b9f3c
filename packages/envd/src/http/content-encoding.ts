import { ApiError } from '@skerry/contract/error';

export type ContentEncoding = 'identity' | 'gzip';

/** From here on the time to compress outweighs what the shorter answer saves, unless the caller asks for gzip by weight. */
const MAX_IMPLICIT_GZIP_BYTES = 1024 * 1024;

// Not by the package negotiator: to it, identity is as acceptable when it is not named as when it is, which decides here.
const parseWeights = (header: string): Map<string, number> => {
  const weights = new Map<string, number>();
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    if (name === undefined || name === '') continue;
    const weight = parameters
      .map((parameter) => /^q=(.*)$/i.exec(parameter)?.[1])
      .find((text) => text !== undefined);
    const value = weight === undefined ? 1 : Number(weight);
    weights.set(name.toLowerCase(), Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, value)));
  }
  return weights;
};

/**
 * Chooses how to send a file (RFC 9110, 12.5.3). Of two encodings with the same weight identity wins, being the faster. An
 * `Accept-Encoding` that lists gzip and says nothing about identity gets gzip for small files.
 * Throws `not_acceptable` when identity is forbidden and gzip is not allowed either.
 */
export const chooseContentEncoding = (
  header: string | undefined,
  { sizeBytes, identityOnly }: { sizeBytes: number; identityOnly: boolean },
): ContentEncoding => {
  const weights = parseWeights(header ?? '');
  const any = weights.get('*');
  const gzip = identityOnly ? 0 : (weights.get('gzip') ?? weights.get('x-gzip') ?? any ?? 0);
  const identity = weights.get('identity') ?? any;
  if (gzip === 0) {
    if (identity !== 0) return 'identity';
    throw new ApiError('not_acceptable', 'no acceptable encoding; supported encodings are identity and gzip');
  }
  if (identity === undefined) return sizeBytes <= MAX_IMPLICIT_GZIP_BYTES ? 'gzip' : 'identity';
  return gzip > identity ? 'gzip' : 'identity';
};
