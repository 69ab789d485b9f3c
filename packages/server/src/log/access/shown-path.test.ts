import { expect, it } from 'vitest';
import { toShownPath } from './shown-path.ts';

it.each([
  ['/sandboxes/i1abc/pause?x=1', '/sandboxes/i1abc/pause'],
  ['http://example.test/a?signature=v1_secret', '/a'],
  ['/a#access_token=secret', '/a'],
  [`/bot${'7'.repeat(40)}/send`, '/*/send'],
  [`/login/e2b_${'0'.repeat(40)}`, '/login/*'],
  [
    '/templates/base/builds/0d9ab2ac-6a57-4cb1-a1e3-b2a5d6bba3f8/status',
    '/templates/base/builds/0d9ab2ac-6a57-4cb1-a1e3-b2a5d6bba3f8/status',
  ],
  ['*', '*'],
  ['', ''],
])('writes the path of %s as %s', (url, shown) => {
  expect(toShownPath(url)).toBe(shown);
});

it('shortens a long path', () => {
  expect(toShownPath('/ab'.repeat(10_000)).length).toBe(1024);
});
