import type { IncomingHttpHeaders } from 'node:http';

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What identifies one state of a file. */
export interface Validators {
  etag: string;
  /** In whole seconds, like the header it goes into. */
  modifiedMs: number;
}

const listsEtag = (header: string, etag: string): boolean =>
  header
    .split(',')
    .map((item) => item.trim().replace(/^W\//, ''))
    .some((item) => item === '*' || item === etag);

const isLater = (modifiedMs: number, header: string): boolean | undefined => {
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : modifiedMs > date;
};

/** The status that the conditions of a request call for, in the order of RFC 9110, 13.2.2. Undefined: go on. */
export const checkConditions = (headers: IncomingHttpHeaders, now: Validators): 304 | 412 | undefined => {
  const { 'if-match': match, 'if-unmodified-since': unmodified } = headers;
  const { 'if-none-match': noneMatch, 'if-modified-since': modified } = headers;
  if (match !== undefined) {
    if (!listsEtag(match, now.etag)) return 412;
  } else if (unmodified !== undefined && isLater(now.modifiedMs, unmodified) === true) return 412;
  if (noneMatch !== undefined) return listsEtag(noneMatch, now.etag) ? 304 : undefined;
  return modified !== undefined && isLater(now.modifiedMs, modified) === false ? 304 : undefined;
};

const isStale = (ifRange: string | undefined, now: Validators): boolean =>
  ifRange !== undefined && ifRange !== now.etag && Date.parse(ifRange) !== now.modifiedMs;

/**
 * The one range a request asks for. Undefined when it wants the whole file: no header, one we do not understand, several
 * ranges, a range of an older state of the file, or one of an empty file, of which some clients always ask for a first part.
 * `unsatisfiable` when the file has no such bytes.
 */
export const parseByteRange = (
  headers: IncomingHttpHeaders,
  { sizeBytes, validators }: { sizeBytes: number; validators: Validators },
): ByteRange | 'unsatisfiable' | undefined => {
  if (sizeBytes === 0) return undefined;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range?.replaceAll(' ', '') ?? '');
  if (match === null || isStale(headers['if-range'] as string | undefined, validators)) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
};
