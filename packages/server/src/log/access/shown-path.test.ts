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
  expect(toShownPath(url, 'api')).toBe(shown);
});

it.each(['port', 'malformed'] as const)('writes nothing of a path of the host %s', (host) => {
  for (const url of [
    '/reset/0d9ab2ac-6a57-4cb1-a1e3-b2a5d6bba3f8',
    '/t0ken',
    'http://example.test/a?b',
    '*/',
  ])
    expect(toShownPath(url, host)).toBe('/*');
  for (const url of ['/', '/?token=secret', '*', '']) expect(toShownPath(url, host)).toBe(url.split('?')[0]);
});

it('shortens a long path, and shows no part of a secret at its end', () => {
  expect(toShownPath('/ab'.repeat(10_000), 'api').length).toBe(1024);
  const shown = toShownPath(`${'/abc'.repeat(250)}/${'s'.repeat(40)}`, 'api');
  expect(shown.slice(-6)).toBe('/abc/*');
});
