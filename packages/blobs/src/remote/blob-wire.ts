import { BlobError, type BlobErrorCode } from '../blob-error.ts';
import type { BlobInfo } from '../blob-store.ts';

/*
 * A store over HTTP/2. The path of a request is the key, or `/?prefix=…` for a list. The body of a PUT ends with one byte more, so
 * that a body that has failed is not taken for a short one.
 */

/** The last byte of a PUT. */
export const bodyEnds = { complete: 1, failed: 0 } as const;

/** The code of a failure; its message is the body of the answer. */
export const codeHeader = 'blob-error';
/** The range of a GET: `OFFSET` or `OFFSET-LENGTH`. */
export const rangeHeader = 'blob-range';
/** The size of a blob, and the stated size of a body. */
export const sizeHeader = 'blob-size';
/** When a blob was stored, in milliseconds since the epoch. */
export const timeHeader = 'blob-time';

const codes: readonly BlobErrorCode[] = [
  'not_found',
  'invalid',
  'incomplete',
  'unsupported',
  'denied',
  'exhausted',
  'unavailable',
  'aborted',
  'internal',
];

/** The failure that the other side reports. */
export const toReportedError = (code: unknown, message: string): BlobError =>
  new BlobError(codes.find((one) => one === code) ?? 'internal', message);

/** One line of a list. */
export type ListLine =
  | { key: string; sizeBytes: number; modifiedAt: number }
  | { code: string; message: string };

/** Writes a line of a list. */
export const formatLine = (line: ListLine): string => `${JSON.stringify(line)}\n`;

/** Reads a line of a list. Throws the failure that it reports. */
export const parseLine = (text: string): BlobInfo => {
  const line = JSON.parse(text) as ListLine;
  if ('code' in line) throw toReportedError(line.code, line.message);
  return { key: line.key, sizeBytes: line.sizeBytes, modifiedAt: new Date(line.modifiedAt) };
};

/** A count from a header; undefined when it has none. */
export const toCount = (value: unknown): number | undefined =>
  typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined;
