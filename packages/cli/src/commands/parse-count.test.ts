import { expect, it } from 'vitest';
import { parseCount, parseTotalCount } from './parse-count.ts';

it('takes what one host can have, or many hosts together', () => {
  expect(['0', '1000'].map(parseCount)).toEqual([0, 1000]);
  expect(['0', '1001', '1000000'].map(parseTotalCount)).toEqual([0, 1001, 1_000_000]);
});

it('rejects a number beyond them, and what is no whole number', () => {
  for (const text of ['1001', '-1', '1.5', '1e2', '', ' 1'])
    expect(() => parseCount(text)).toThrow('0 to 1000.');
  expect(() => parseTotalCount('1000001')).toThrow('0 to 1000000.');
});
