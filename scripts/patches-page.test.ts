import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { headingParts, parseHeading, toPatchesPage } from './patches-page.ts';
import { readWorkarounds } from './read-workarounds.ts';

it('joins the lines of each part of a heading, and stops at its end', () => {
  const heading = parseHeading('/**\n * Program: CRIU\n * Does: Changes\n * a thing.\n */\n// Test: none\n');
  expect([...heading]).toEqual([
    ['Program', 'CRIU'],
    ['Does', 'Changes a thing.'],
  ]);
});

it.each([...readWorkarounds()])('finds each part of the heading of %s', (_path, source) => {
  const parts = parseHeading(source);
  expect(headingParts.filter((part) => part !== 'Bench row' && !parts.has(part))).toEqual([]);
});

it('equals docs/patches.md: otherwise run node scripts/write-patches-page.ts', () => {
  expect(readFileSync('docs/patches.md', 'utf8')).toBe(toPatchesPage(readWorkarounds()));
});
