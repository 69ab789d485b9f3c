import { readFileSync } from 'node:fs';
import { ApiError } from '@skerry/contract/error';
import { expect, it } from 'vitest';
import { parseTarget } from './host.ts';

interface Vectors {
  domain: string;
  sharedHosts: string[];
  cases: {
    title: string;
    headers: Record<string, string>;
    result: 'platform' | { status: number } | { port: number; sandboxID: string };
  }[];
}

const { domain, sharedHosts, cases } = JSON.parse(
  readFileSync(new URL('../../../specs/vectors/host-names.json', import.meta.url), 'utf8'),
) as Vectors;

it.each(cases)('agrees with the common cases: $title', ({ headers, result }) => {
  const parse = () => parseTarget(headers, { domain, sharedHosts });
  if (result === 'platform') expect(parse()).toBeUndefined();
  else if ('status' in result) {
    expect(parse).toThrow(ApiError);
    expect(parse).toThrow(expect.objectContaining({ status: result.status }));
  } else expect(parse()).toEqual({ port: result.port, sandboxId: result.sandboxID });
});

it('routes a name with a dash outside the domain to the platform', () => {
  expect(parseTarget({ host: 'my-server.lan:3000' }, { domain, sharedHosts })).toBeUndefined();
});

const platformFor = (headers: Record<string, string>) => parseTarget(headers, { domain, sharedHosts });
const malformed = expect.objectContaining({ code: 'invalid_argument' });

it.each(['+80', '8.0', '1,2', '0x1', '1e3', ' 80', '80 ', '080080', ''])(
  'refuses the port "%s" of a header',
  (port) => {
    const headers = { host: 'localhost', 'e2b-sandbox-id': 'i1', 'e2b-sandbox-port': port };
    expect(() => platformFor(headers)).toThrow(malformed);
  },
);

it.each(['i-1', 'i_1', 'i(1)', 'i+1', 'i.1', 'I1', ''])('refuses the id "%s" of a header', (id) => {
  const headers = { host: 'localhost', 'e2b-sandbox-id': id, 'e2b-sandbox-port': '80' };
  expect(() => platformFor(headers)).toThrow(malformed);
});

it('refuses a header that was sent twice', () => {
  const headers = { host: 'localhost', 'e2b-sandbox-id': ['i1', 'i1'] as unknown as string };
  expect(() => platformFor({ ...headers, 'e2b-sandbox-port': '80' })).toThrow(malformed);
});

it('routes a request without a host name, or with one of a single label, to the platform', () => {
  for (const host of ['server', 'my-server', '+1-server.lan', '(1)-server.lan'])
    expect(platformFor({ host }), host).toBeUndefined();
  expect(platformFor({})).toBeUndefined();
  expect(platformFor({ host: '' })).toBeUndefined();
});

it('refuses a port without an id, also where a domain is missing', () => {
  for (const host of ['8080-', '8080-i1', '8080-i1:80'])
    expect(() => platformFor({ host }), host).toThrow(malformed);
});

it('compares host names without their port and the dot of the root', () => {
  const pair = { 'e2b-sandbox-id': 'i1', 'e2b-sandbox-port': '80' };
  for (const host of ['localhost.', 'LOCALHOST:1', '[::1]', 'Shared.Test.:8443', 'sandbox.localhost:'])
    expect(platformFor({ host, ...pair }), host).toEqual({ sandboxId: 'i1', port: 80 });
  for (const host of ['localhost:+1', 'localhost:1.0', 'localhost:a'])
    expect(platformFor({ host, ...pair }), host).toBeUndefined();
});

it.each([
  ['sandboxes.test', '8080-i1.sandboxes.test:3000'],
  ['Sandboxes.Test.:443', '8080-i1.sandboxes.test'],
  ['localhost:4000', '8080-i1.localhost'],
  ['10.0.0.5:4000', '8080-i1.10.0.0.5:4000'],
])('routes names below the domain %s without its port: %s', (configured, host) => {
  expect(parseTarget({ host }, { domain: configured, sharedHosts })).toEqual({ sandboxId: 'i1', port: 8080 });
});

it('says which option a name of another domain needs', () => {
  const pair = { 'e2b-sandbox-id': 'i1', 'e2b-sandbox-port': '80' };
  expect(() => platformFor({ host: '8080-i1.attacker.example' })).toThrow('--domain');
  expect(() => platformFor({ host: 'sandbox.attacker.example', ...pair })).toThrow('--shared-host');
});
