import { expect, it } from 'vitest';
import { parseDuration, parseTimeToLive } from './parse-duration.ts';

it.each([
  ['90', 90],
  ['90s', 90],
  ['10m', 600],
  ['1h30m', 5400],
  ['2d', 172_800],
])('reads %s as %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

it.each(['', '0', '0s', '-1', '1.5', 'm', '10 m', '10x', '1m30', '99999999999999999d'])(
  'refuses %j and shows how a time is written',
  (text) => {
    expect(() => parseDuration(text)).toThrow(/at least 1 second, written 90, 90s, 10m or 1h30m/);
  },
);

it('refuses a time to live of more than a day', () => {
  expect(parseTimeToLive('24h')).toBe(86_400);
  expect(() => parseTimeToLive('2d')).toThrow('a sandbox lives for 24h at most');
});
