import { expect, it } from 'vitest';
import { readRetryAfterMs } from './retry-after.ts';

const NOW_MS = Date.parse('Fri, 01 Jan 2027 00:00:00 GMT');

it.each([
  [429, '7', 7_000],
  [503, ' 0 ', 0],
  [429, 'Fri, 01 Jan 2027 00:00:05 GMT', 5_000],
  [429, 'Thu, 31 Dec 2026 23:59:59 GMT', 0],
  [429, '-1', undefined],
  [429, 'soon', undefined],
  [404, '7', undefined],
])('reads of %i with %j how long to wait', (status, text, expected) => {
  const response = new Response(null, { status, headers: { 'retry-after': text } });
  expect(readRetryAfterMs(response, NOW_MS)).toBe(expected);
});

it('reads nothing of an answer that names no time', () => {
  expect(readRetryAfterMs(new Response(null, { status: 429 }), NOW_MS)).toBeUndefined();
});
