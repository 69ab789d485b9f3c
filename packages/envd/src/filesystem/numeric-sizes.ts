/**
 * The metadata of an entry, whose values are all texts, or the size of an entry. Quotes inside of texts are escaped, so no name
 * of a file can look like either.
 */
const METADATA_OR_SIZE = /"metadata":\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}|"size":"(-?\d+)"/g;

const toNumber = (match: string, digits: string | undefined): string =>
  digits !== undefined && Number.isSafeInteger(Number(digits)) ? `"size":${digits}` : match;

/**
 * Writes `size` as a number where a number can hold it, in JSON of the filesystem service. Proto-JSON writes an int64 as a
 * string; decoders accept both, and the service description promises a number.
 */
export const toNumericSizes = (json: string): string => json.replace(METADATA_OR_SIZE, toNumber);

/** Encodes JSON with numeric sizes. */
export const createSizeEncoder = () => {
  const encoder = new TextEncoder();
  return { encode: (json = ''): Uint8Array<ArrayBuffer> => encoder.encode(toNumericSizes(json)) };
};
