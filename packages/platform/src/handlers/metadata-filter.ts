import { invalid } from '@skerry/contract/error';

export type MetadataPair = readonly [key: string, value: string];

// No sandbox has more pairs, and every pair is one condition of a query, whose depth databases limit.
const MAX_PAIRS = 256;

/** Text that is not percent-encoded is taken as it is. */
const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // `decodeURIComponent` throws only URIError, for a percent sign that starts no valid sequence.
    return text;
  }
};

/** Plain clients encode a part once, others once more before that; only the outer encoding writes a blank as `+`. */
const decodePiece = (piece: string): string => decode(decode(piece.replaceAll('+', ' ')));

/**
 * The pairs of a `metadata` query value that was decoded once already, as every query value is. Parts may still be
 * encoded once or twice, so the text is split before it is decoded further. Throws `invalid_argument` for a part
 * without exactly one `=`, and for more than 256 parts.
 */
export const parseMetadataFilter = (value: string | undefined): MetadataPair[] => {
  if (value === undefined || value === '') return [];
  const text = value.includes('=') ? value : decode(value);
  const parts = text.split('&');
  if (parts.length > MAX_PAIRS) {
    throw invalid(`query.metadata must have at most ${MAX_PAIRS} pairs, got ${parts.length}`);
  }
  return parts.map((part) => {
    const [key, pairValue, ...more] = part.split('=');
    if (key === undefined || pairValue === undefined || more.length > 0) {
      throw invalid(`query.metadata must be pairs "key=value" joined by "&", got "${part}"`);
    }
    return [decodePiece(key), decodePiece(pairValue)];
  });
};
