type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const convertEntry = (entry: Json | undefined): void => {
  if (!isObject(entry) || typeof entry.size !== 'string') return;
  const size = Number(entry.size);
  if (Number.isSafeInteger(size)) entry.size = size;
};

const convertEvent = (event: Json | undefined): void => {
  if (isObject(event)) convertEntry(event.entry);
};

/** Everywhere a message of the filesystem service holds an EntryInfo. */
const convertMessage = (message: Json): void => {
  if (!isObject(message)) return;
  const { entry, entries, events, filesystem } = message;
  convertEntry(entry);
  convertEvent(filesystem);
  if (Array.isArray(entries)) entries.forEach(convertEntry);
  if (Array.isArray(events)) events.forEach(convertEvent);
};

/**
 * Encodes the JSON of the filesystem service with `size` as a number where a number can hold it. Proto-JSON writes an int64
 * as a string; decoders accept both, and the service description promises a number.
 */
export const createSizeEncoder = () => {
  const encoder = new TextEncoder();
  return {
    encode(json = ''): Uint8Array<ArrayBuffer> {
      if (!json.includes('"size":"')) return encoder.encode(json);
      const message = JSON.parse(json) as Json;
      convertMessage(message);
      return encoder.encode(JSON.stringify(message));
    },
  };
};
