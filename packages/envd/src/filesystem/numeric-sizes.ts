import type { JsonValue } from '@bufbuild/protobuf';

const toNumber = (value: JsonValue): JsonValue =>
  typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value;

/**
 * Makes `size` a number where a number can hold it, in JSON of a message of the filesystem service. Proto-JSON writes an
 * int64 as a string; decoders accept both, and the service description promises a number. Changes the value in place.
 */
export const useNumericSizes = (json: JsonValue): JsonValue => {
  if (typeof json !== 'object' || json === null) return json;
  for (const [key, value] of Object.entries(json)) {
    // A caller has chosen the keys of metadata.
    if (key === 'metadata') continue;
    if (key === 'size') (json as Record<string, JsonValue>)[key] = toNumber(value);
    else useNumericSizes(value);
  }
  return json;
};
