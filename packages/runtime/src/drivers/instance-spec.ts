import { isAbsolute, normalize } from 'node:path';
import { RuntimeError } from '../error.ts';
import { isInstanceId } from '../instance-id.ts';

/** What the schema of a spec cannot express. */

/** @throws RuntimeError `internal`, naming the field */
export function parseInstanceId(value: unknown, field = 'id'): string {
  if (isInstanceId(value)) return value;
  throw invalid(field, 'must be 1 to 40 of a-z and 0-9');
}

/**
 * Parses a path that may become part of the options of an overlay, which are split at commas and colons. Throws `internal`, naming the
 * field.
 */
export function parseImagePath(value: unknown, field: string): string {
  const isPlain = typeof value === 'string' && isAbsolute(value) && normalize(value) === value;
  if (isPlain && /^[^\p{Cc},:\\]+$/u.test(value)) return value;
  throw invalid(field, 'must be an absolute path without "..", comma, colon and backslash');
}

const invalid = (what: string, rule: string): RuntimeError => new RuntimeError('internal', `${what} ${rule}`);
