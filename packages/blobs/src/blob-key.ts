import { BlobError } from './blob-error.ts';

const segment = '[A-Za-z0-9][A-Za-z0-9._-]*';
const keyPattern = new RegExp(`^${segment}(?:/${segment})*$`);
const prefixPattern = /^[A-Za-z0-9._/-]*$/;
const MAX_KEY_LENGTH = 200;

/**
 * Returns a key as it is: names joined by slashes, of ASCII letters, digits, dots, underscores and dashes, each of
 * which begins with a letter or a digit, and 200 characters at most. So no store has to escape it, and no path leads
 * out of a folder. Throws `invalid` otherwise.
 */
export const parseKey = (key: string): string => {
  if (key.length <= MAX_KEY_LENGTH && keyPattern.test(key)) return key;
  throw new BlobError(
    'invalid',
    `${JSON.stringify(key.slice(0, MAX_KEY_LENGTH))} cannot be the key of a blob`,
  );
};

/** Returns the beginning of a key, which may be empty. Throws `invalid` for what no key can begin with. */
export const parsePrefix = (prefix: string): string => {
  if (prefix.length <= MAX_KEY_LENGTH && prefixPattern.test(prefix)) return prefix;
  throw new BlobError('invalid', `no key begins with ${JSON.stringify(prefix.slice(0, MAX_KEY_LENGTH))}`);
};

/** Some bytes of a blob: those from `offset` to its end, or `length` of them where it has as many. */
export interface ByteRange {
  offset: number;
  length?: number;
}

/** Throws `invalid` for an offset that is no count, or a length that is not at least 1. */
export const parseRange = ({ offset, length }: ByteRange): ByteRange => {
  const isValid =
    Number.isSafeInteger(offset) &&
    offset >= 0 &&
    (length === undefined || (Number.isSafeInteger(length) && length >= 1));
  if (isValid) return { offset, ...(length !== undefined && { length }) };
  throw new BlobError('invalid', `no range of ${length} bytes from ${offset}`);
};
