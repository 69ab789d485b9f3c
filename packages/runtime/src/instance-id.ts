import { ID_PATTERN } from './bounds/check-bounds.ts';

/** Returns whether a value is the id of an instance or a snapshot. */
export const isInstanceId = (value: unknown): value is string =>
  typeof value === 'string' && ID_PATTERN.test(value);
