import { expect, it } from 'vitest';
import { findDrift } from './find-drift.ts';

it('finds what is changed, missing or not written any more, and nothing else', () => {
  const before = new Map([
    ['same', '1'],
    ['stale', '2'],
    ['changed', '3'],
  ]);
  const after = new Map([
    ['same', '1'],
    ['changed', '4'],
    ['new', '5'],
  ]);
  expect(findDrift(before, after)).toEqual(['no generator writes stale', 'changed: changed', 'missing: new']);
  expect(findDrift(before, before)).toEqual([]);
});
