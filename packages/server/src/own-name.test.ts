import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { createNameCheck, hasOwnName } from './own-name.ts';

const isKnown = createNameCheck({
  domains: ['boxes.test:4000', 'server.lan'],
  sharedHosts: ['shared.example'],
});
const check = (host: string | undefined, remoteAddress = '127.0.0.1'): boolean =>
  hasOwnName({ headers: { host }, socket: { remoteAddress } } as Parameters<typeof hasOwnName>[0], isKnown);

it.each([
  'localhost',
  'LOCALHOST:3000',
  'api.localhost:3000',
  '127.0.0.1:3000',
  '[::1]:3000',
  'boxes.test:4000',
  'api.boxes.test.',
  'server.lan',
  'shared.example:1',
  hostname(),
  undefined,
])('takes a request over loopback for %s', (host) => {
  expect(check(host)).toBe(true);
});

it.each(['attacker.example', 'localhost.attacker.example', 'notboxes.test', '127.0.0.1.attacker.example'])(
  'refuses a request over loopback for %s, and takes one from another machine',
  (host) => {
    expect(check(host)).toBe(false);
    expect(check(host, '::ffff:127.0.0.1')).toBe(false);
    expect(check(host, '192.0.2.1')).toBe(true);
  },
);
