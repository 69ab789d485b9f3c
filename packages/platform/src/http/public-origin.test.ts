import { expect, it } from 'vitest';
import { toPublicOrigin } from './public-origin.ts';

it.each([
  [{ host: 'localhost:4000' }, 'localhost:4000', 'http://localhost:4000'],
  [{ host: '[::1]:4000' }, 'localhost:4000', 'http://[::1]:4000'],
  [{ host: 'api.boxes.test' }, 'boxes.test', 'https://api.boxes.test'],
  [{ host: 'api.boxes.test', 'x-forwarded-proto': 'http' }, 'boxes.test', 'http://api.boxes.test'],
  [{ host: 'other.test', 'x-forwarded-proto': 'https, http' }, 'boxes.test', 'https://other.test'],
  [{ host: 'api.localhost:4000' }, 'localhost:4000', 'http://api.localhost:4000'],
  [{ host: 'bad host/', 'x-forwarded-proto': 'gopher' }, 'boxes.test', 'http://boxes.test'],
  [{}, null, 'http://localhost'],
])('finds for %j on the domain %s the origin %s', (headers, domain, origin) => {
  expect(toPublicOrigin(headers, domain)).toBe(origin);
});

it('has the scheme of a server with TLS, whatever a caller says', () => {
  const headers = { host: 'boxes.test', 'x-forwarded-proto': 'http' };
  expect(toPublicOrigin(headers, 'boxes.test', true)).toBe('https://boxes.test');
});
