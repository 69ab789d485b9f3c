import { expect, it } from 'vitest';
import { readOperation } from './document.ts';
import { createValidators } from './validate.ts';

const check = createValidators().forRequest(readOperation('POST /v2/sandboxes'));
const create = (body: object, headers: Record<string, string>) =>
  check({ params: {}, query: {}, headers, body }).body;
const strict = { 'x-skerry-strict': 'true' };
const known = {
  templateID: 'base',
  metadata: { any: 'key' },
  envVars: { ANY: 'key' },
  network: { allowOut: [] },
  volumeMounts: [{ name: 'a', path: '/a' }],
};

it('accepts the keys that the document names, and any key of a free object', () => {
  expect(create(known, strict)).toEqual(known);
});

it.each([
  [{ timeOut: 3 }, 'body.timeOut'],
  [{ network: { allow_out: [] } }, 'body.network.allow_out'],
  [{ volumeMounts: [{ name: 'a', path: '/a', 'a/b': 1 }] }, 'body.volumeMounts[0]["a/b"]'],
])('refuses %j where the caller asks for it, and ignores it otherwise', (extra, key) => {
  const body = { ...known, ...extra };
  expect(() => create(body, strict)).toThrow(`validation error: ${key} is not a known key`);
  expect(create(body, {})).toEqual(body);
  expect(create(body, { 'x-skerry-strict': 'false' })).toEqual(body);
});
