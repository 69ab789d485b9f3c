import type { IncomingHttpHeaders } from 'node:http';
import fresh from 'fresh';

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Identifies one state of a file. */
export interface Validators {
  etag: string;
  /** The time of the last change, in whole seconds, as HTTP dates are. */
  modifiedMs: number;
}

const listsEtag = (header: string, etag: string): boolean =>
  header
    .split(',')
    .map((item) => item.trim().replace(/^W\//, ''))
    .some((item) => item === '*' || item === etag);

/** The status that the conditions of a request require, in the order of RFC 9110, 13.2.2. Undefined when the request proceeds. */
export const checkConditions = (headers: IncomingHttpHeaders, now: Validators): 304 | 412 | undefined => {
  const { 'if-match': match, 'if-unmodified-since': unmodified } = headers;
  if (match !== undefined) {
    if (!listsEtag(match, now.etag)) return 412;
  } else if (unmodified !== undefined && now.modifiedMs > Date.parse(unmodified)) return 412;
  const state = { etag: now.etag, 'last-modified': new Date(now.modifiedMs).toUTCString() };
  return fresh(headers, state) ? 304 : undefined;
};

const isStale = (ifRange: string | undefined, now: Validators): boolean =>
  ifRange !== undefined && ifRange !== now.etag && Date.parse(ifRange) !== now.modifiedMs;

/**
 * The one range a request asks for. Not by the package range-parser: to it, neither the last 20 bytes of a file of 10 nor
 * those from 4 to 2 are there, where RFC 9110, 14.1.1 and 14.1.2 want the whole file. Undefined when it wants the whole file: no header, one we do not understand, several
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
