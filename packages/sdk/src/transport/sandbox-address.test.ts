import { expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors.ts';
import { toAgentUrl, toSandboxHost } from './sandbox-address.ts';

const sandboxId = 'i4k2m9x7q1w8e3r5t6y0z';

it.each([
  [
    'the host name of a public domain',
    'https://api.example.com',
    undefined,
    'example.com',
    `https://49983-${sandboxId}.example.com`,
  ],
  [
    'the scheme of the API',
    'http://api.example.com:81',
    undefined,
    'example.com:81',
    `http://49983-${sandboxId}.example.com:81`,
  ],
  [
    'the service itself on localhost',
    'http://localhost:4000',
    undefined,
    'localhost:4000',
    'http://localhost:4000',
  ],
  [
    'the service itself below localhost',
    'http://a.localhost:4000',
    undefined,
    'a.localhost:4000',
    'http://localhost:4000',
  ],
  [
    'the address of the API where the domain is its localhost',
    'http://10.0.0.7:4000',
    undefined,
    'localhost:4000',
    'http://10.0.0.7:4000',
  ],
  [
    'the local domain where the API has a name',
    'http://api.example.com',
    undefined,
    'localhost:4000',
    'http://localhost:4000',
  ],
  [
    'sandboxUrl above all',
    'https://api.example.com',
    'http://edge:1/base',
    'example.com',
    'http://edge:1/base',
  ],
])('sends calls to the agent to %s', (_title, apiUrl, sandboxUrl, domain, expected) => {
  expect(toAgentUrl({ apiUrl, sandboxUrl }, { sandboxId, domain })).toBe(expected);
});

it('names a port by host, with the port of the domain', () => {
  expect(toSandboxHost({ sandboxId, domain: 'localhost:4000' }, 8080)).toBe(
    `8080-${sandboxId}.localhost:4000`,
  );
});

it.each([0, -1, 65_536, 1.5, Number.NaN])('refuses the port %d', (port) => {
  expect(() => toSandboxHost({ sandboxId, domain: 'localhost' }, port)).toThrow(InvalidArgumentError);
});
