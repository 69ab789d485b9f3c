import { expect, it } from 'vitest';
import { createRandomIds } from './ids.ts';
import { toAccessToken } from './tokens.ts';

it('derives the access token as HMAC-SHA256 over "access:" and the id, in hex', () => {
  // echo -n access:i0 | openssl dgst -sha256 -hmac secret
  expect(toAccessToken('secret', 'i0')).toBe(
    '614e947d6442b7fadae64bc200d87733c6202284d94a71aedc439f667ae658b3',
  );
  expect(toAccessToken('secret', 'i1')).not.toBe(toAccessToken('secret', 'i0'));
  expect(toAccessToken('other', 'i0')).not.toBe(toAccessToken('secret', 'i0'));
});

it('makes ids in the form that fits host names', () => {
  const ids = createRandomIds();
  expect(ids.sandboxId()).toMatch(/^i[a-z0-9]{20}$/);
  expect(ids.templateId()).toMatch(/^[a-z0-9]{20}$/);
  expect(ids.sandboxId()).not.toBe(ids.sandboxId());
});
