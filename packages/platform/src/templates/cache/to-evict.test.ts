import { expect, it } from 'vitest';
import { toEvict } from './to-evict.ts';

const entries = [
  { key: 'new', lastUsedAt: 30, sizeBytes: 10 },
  { key: 'mid', lastUsedAt: 20, sizeBytes: 10 },
  { key: 'old', lastUsedAt: 10, sizeBytes: 1 },
];
const wide = { maxBytes: 100, maxCount: 100, usedSince: 0 };

it.each([
  [{}, []],
  [{ usedSince: 20 }, ['old']],
  [{ maxCount: 1 }, ['mid', 'old']],
  // The old one would have room, but what was used before others goes first.
  [{ maxBytes: 15 }, ['mid', 'old']],
  [{ maxBytes: 0 }, ['new', 'mid', 'old']],
])('leaves out with %j, the least recently used first: %j', (bounds, expected) => {
  expect(toEvict(entries, { ...wide, ...bounds })).toEqual(expected);
});
