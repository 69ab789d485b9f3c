import { expect, it } from 'vitest';
import { createPins, MAX_PINNED_NAMES } from './pins.ts';

it('keeps an address for at least a minute and at most an hour', () => {
  let now = 0;
  const pins = createPins(() => now);
  pins.add('a.example', ['1.2.3.4'], 0);
  pins.add('b.example', ['1.2.3.4'], 1_000_000);
  now = 59_000;
  expect([pins.has('a.example', '1.2.3.4'), pins.has('b.example', '1.2.3.4')]).toEqual([true, true]);
  now = 61_000;
  expect([pins.has('a.example', '1.2.3.4'), pins.has('b.example', '1.2.3.4')]).toEqual([false, true]);
  now = 3_600_001;
  expect(pins.has('b.example', '1.2.3.4')).toBe(false);
});

it('keeps addresses of earlier answers, and a bounded number of names', () => {
  const pins = createPins(() => 0);
  pins.add('a.example', ['1.1.1.1'], 60);
  pins.add('a.example', ['2.2.2.2'], 60);
  expect(pins.has('a.example', '1.1.1.1')).toBe(true);
  for (let index = 0; index < MAX_PINNED_NAMES; index++) pins.add(`n${index}.example`, ['3.3.3.3'], 60);
  expect(pins.has('a.example', '1.1.1.1')).toBe(false);
  expect(pins.has(`n${MAX_PINNED_NAMES - 1}.example`, '3.3.3.3')).toBe(true);
});
