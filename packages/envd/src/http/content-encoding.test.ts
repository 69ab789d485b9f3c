import { expect, it } from 'vitest';
import { chooseContentEncoding } from './content-encoding.ts';

const large = { sizeBytes: 2 * 1024 * 1024, identityOnly: false };
const small = { ...large, sizeBytes: 10 };
const choose = (accept: string | undefined, file: typeof large) =>
  chooseContentEncoding(accept === undefined ? {} : { 'accept-encoding': accept }, file);

it.each([
  [undefined, 'identity', 'identity'],
  ['gzip', 'gzip', 'identity'],
  ['br, gzip, deflate', 'gzip', 'identity'],
  ['gzip, identity', 'identity', 'identity'],
  ['gzip;q=1, identity;q=0.5', 'gzip', 'gzip'],
  ['x-gzip, identity;q=0', 'gzip', 'gzip'],
  ['gzip;q=nonsense', 'identity', 'identity'],
])('with %j a small file is sent as %s and a large one as %s', (accept, ofSmall, ofLarge) => {
  expect([choose(accept, small), choose(accept, large)]).toEqual([ofSmall, ofLarge]);
});
