import { expect, it } from 'vitest';
import { createRandomIds } from './ids.ts';
import { toAccessToken, toAgentKeys, toRouteKeys, toTrafficToken } from './tokens.ts';

it('derives the access token as HMAC-SHA256 over "access:" and the id, in hex', () => {
  // echo -n access:i0 | openssl dgst -sha256 -hmac secret
  expect(toAccessToken('secret', 'i0')).toBe(
    '614e947d6442b7fadae64bc200d87733c6202284d94a71aedc439f667ae658b3',
  );
  expect(toAccessToken('secret', 'i1')).not.toBe(toAccessToken('secret', 'i0'));
  expect(toAccessToken('other', 'i0')).not.toBe(toAccessToken('secret', 'i0'));
});

it('derives the nonce of a run from sandbox and run, and no token where none is needed', () => {
  // echo -n edge:i0:r1 | openssl dgst -sha256 -hmac secret
  const first = toAgentKeys('secret', { id: 'i0', secure: true }, 'r1');
  expect(first).toEqual({
    accessToken: toAccessToken('secret', 'i0'),
    edgeNonce: '11bc54536901d68efaef6b3c46aedc888eb1bbf900e19839d6442274ed15da79',
  });
  expect(toAgentKeys('secret', { id: 'i0', secure: true }, 'r1')).toEqual(first);
  const others = [
    toAgentKeys('secret', { id: 'i0', secure: true }, 'r2'),
    toAgentKeys('secret', { id: 'i1', secure: true }, 'r1'),
    toAgentKeys('other', { id: 'i0', secure: true }, 'r1'),
  ];
  expect(new Set([first, ...others].map(({ edgeNonce }) => edgeNonce)).size).toBe(4);
  expect(toAgentKeys('secret', { id: 'i0', secure: false }, 'r1')).toEqual({ edgeNonce: first.edgeNonce });
});

it('derives another token for private ports, and none for public ones', () => {
  // echo -n traffic:i0 | openssl dgst -sha256 -hmac secret
  expect(toTrafficToken('secret', 'i0')).toBe(
    'db7d2ed74eae04dad25aa5701c257c014658a1cbb5d04f590375ec8e1ef671be',
  );
  const keysOf = (ingress: { isPrivate: boolean } | null) =>
    toRouteKeys('secret', { id: 'i0', secure: true, ingress }, 'r1');
  expect(keysOf({ isPrivate: true }).ports).toEqual({ trafficToken: toTrafficToken('secret', 'i0') });
  expect(keysOf({ isPrivate: false }).ports).toEqual({});
  expect(keysOf(null)).toEqual({ agent: toAgentKeys('secret', { id: 'i0', secure: true }, 'r1'), ports: {} });
});

it('generates ids that are valid in host names', () => {
  const ids = createRandomIds();
  expect(ids.sandboxId()).toMatch(/^i[a-z0-9]{20}$/);
  expect(ids.templateId()).toMatch(/^[a-z0-9]{20}$/);
  expect(ids.sandboxId()).not.toBe(ids.sandboxId());
});
