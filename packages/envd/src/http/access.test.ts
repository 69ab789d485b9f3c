import { EDGE_ACCESS, hashToken } from '@skerry/contract/agent-access';
import { describe, expect, it } from 'vitest';
import { checkAgentAccess } from './access.ts';

const edgeNonce = 'ab'.repeat(32);
const settings = { accessTokenSha256: hashToken('secret'), edgeNonce };
const query = new URLSearchParams();

const check = (
  headers: Record<string, string>,
  route = 'GET /envs',
  held: Partial<typeof settings> = settings,
) =>
  checkAgentAccess(
    { headers },
    { route, query },
    { accessTokenSha256: held.accessTokenSha256, edgeNonce: held.edgeNonce },
  );

describe('checkAgentAccess', () => {
  it('takes the word of the edge for a request with the nonce of the run', () => {
    expect(check({ [EDGE_ACCESS]: `full ${edgeNonce}` })).toBe('full');
    expect(check({ [EDGE_ACCESS]: `signature ${edgeNonce}` }, 'GET /files')).toBe('signature');
  });

  it('refuses the nonce of another run, also beside the token and where no token is set', () => {
    const stale = { [EDGE_ACCESS]: `full ${'cd'.repeat(32)}` };
    for (const headers of [stale, { ...stale, 'x-access-token': 'secret' }])
      expect(() => check(headers)).toThrow('the edge of another run');
    expect(() => check(stale, 'GET /envs', {})).toThrow('the edge of another run');
  });

  it('compares with the hash of the token without the edge', () => {
    expect(check({ 'x-access-token': 'secret' })).toBe('full');
    expect(() => check({ 'x-access-token': settings.accessTokenSha256 })).toThrow('invalid access token');
    expect(() => check({})).toThrow('missing X-Access-Token header');
    expect(check({}, 'GET /envs', { edgeNonce })).toBe('full');
  });

  it('leaves GET /health open whatever a request shows', () => {
    for (const headers of [{}, { [EDGE_ACCESS]: 'full x' }, { 'x-access-token': 'wrong' }])
      expect(check(headers, 'GET /health')).toBe('full');
  });
});
