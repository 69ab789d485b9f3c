import { expect, it } from 'vitest';
import { toAge, toTable } from './table.ts';

it('pads each column to its widest cell, and no line at its end', () => {
  expect(
    toTable(
      ['ID', 'STATE'],
      [
        ['i1', 'running'],
        ['i234', ''],
      ],
    ),
  ).toBe('ID    STATE\ni1    running\ni234\n');
});

it('prints the head alone when there are no rows', () => {
  expect(toTable(['ID', 'STATE'], [])).toBe('ID  STATE\n');
});

it.each([
  [-5, '0s'],
  [999, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [3_599_999, '59m'],
  [86_400_000 * 3.5, '3d'],
])('rounds %d ms down to %s', (milliseconds, age) => {
  expect(toAge(milliseconds)).toBe(age);
});
