import { expect, it } from 'vitest';
import { withoutContained } from './ranges.ts';

it('leaves ranges out that lie in others, whatever their order, and takes addresses as ranges of one', () => {
  const ranges = ['192.0.2.7/24', '10.1.0.0/16', '203.0.113.5', '10.0.0.0/8', '192.0.2.0/24', '240.0.0.0/4'];
  expect(withoutContained(ranges)).toEqual(['10.0.0.0/8', '192.0.2.0/24', '203.0.113.5/32', '240.0.0.0/4']);
});

it('keeps neighbours that only touch', () => {
  expect(withoutContained(['10.0.1.0/24', '10.0.0.0/24'])).toEqual(['10.0.0.0/24', '10.0.1.0/24']);
  expect(withoutContained([])).toEqual([]);
});
