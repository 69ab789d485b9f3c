import { expect, it } from 'vitest';
import { describeIsolation } from './describe-isolation.ts';

it('says what the level is for, and by which word another one is had', () => {
  expect(describeIsolation('container', () => undefined)).toEqual([
    'container, for code of your own or your team',
    'for hostile code: --isolation gvisor ("skerry doctor" tries it)',
  ]);
  expect(describeIsolation('gvisor', () => undefined)).toEqual([
    'gvisor, for hostile code',
    'for code of your own or your team: --isolation container ("skerry doctor" tries it)',
  ]);
});

it('says what prevents the other level on this host', () => {
  expect(describeIsolation('container', () => 'it needs root')[1]).toBe(
    'for hostile code: --isolation gvisor does not start here: it needs root',
  );
});
