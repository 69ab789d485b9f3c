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
  ).toEqual(['ID    STATE', 'i1    running', 'i234']);
});

it('prints the head alone when there are no rows', () => {
  expect(toTable(['ID', 'STATE'], [])).toEqual(['ID  STATE']);
});

it('writes out control characters of cells before it measures them', () => {
  expect(toTable(['A', 'B'], [['\u001b[2J\n', 'x']])).toEqual(['A            B', '\\x1b[2J\\x0a  x']);
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
