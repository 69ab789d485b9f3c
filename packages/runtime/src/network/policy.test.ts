import { describe, expect, it } from 'vitest';
import {
  CLOSED_NETWORK,
  findPolicyProblem,
  isClosedNetwork,
  MAX_NETWORK_ENTRIES,
  OPEN_NETWORK,
  parseNetworkPolicy,
} from './policy.ts';

const find = (allow: readonly string[], deny: readonly string[] = []) => findPolicyProblem({ allow, deny });

describe('findPolicyProblem', () => {
  it('accepts addresses and ranges', () => {
    expect(
      find(['1.1.1.1', '8.8.8.0/24', '0.0.0.0/0'], ['0.0.0.0/0', '::/0', '2001:db8::1', '10.0.0.0/8']),
    ).toBe(undefined);
  });

  it.each([
    '',
    'a b.test',
    'a..test',
    '-a.test',
    '*',
    'a.*.test',
    '*.1.1.1',
    'a.test/8',
    'b\u00fccher.test',
    '1.1.1',
    '1.1.1.1/33',
    '1.1.1.1/',
    '1.1.1.1/-1',
    '::1/129',
    '1.1.1.1 } accept',
    '01.1.1.1',
    '1.1.1.1/8/8',
    `${'a.'.repeat(126)}bc`,
  ])('refuses "%s", which is neither', (entry) => {
    for (const problem of [find(['1.1.1.1', entry]), find([], ['1.1.1.1', entry])])
      expect(problem).toMatchObject({ index: 1, rule: expect.stringContaining('CIDR') });
  });

  it('accepts names where everything else is denied, and refuses them elsewhere and in the list of denials', () => {
    for (const name of ['a.test', '*.a.test', 'A-1.b_c.test', 'localhost', 'xn--bcher-kva.test']) {
      expect(find([name], ['0.0.0.0/0'])).toBe(undefined);
      expect(find([name], ['1.1.1.1'])?.rule).toContain('0.0.0.0/0');
      expect(find([], [name])?.rule).toContain('CIDR');
    }
  });

  it('refuses to allow what is closed to every sandbox', () => {
    for (const entry of ['10.1.2.3', '10.0.0.0/8', '192.168.1.0/24', '169.254.169.254', '168.63.129.16'])
      expect(find([entry])).toMatchObject({
        list: 'allow',
        index: 0,
        rule: expect.stringContaining('closed'),
      });
    for (const entry of ['::1', '2606:4700::/32']) expect(find([entry])?.rule).toContain('IPv6 is closed');
  });

  it('refuses more entries than a list may have', () => {
    const most = Array.from({ length: MAX_NETWORK_ENTRIES }, (_, index) => `1.1.${index}.1`);
    expect(find(most, most)).toBe(undefined);
    expect(find([], [...most, '2.2.2.2'])).toMatchObject({ list: 'deny', index: MAX_NETWORK_ENTRIES });
  });
});

describe('parseNetworkPolicy', () => {
  it('refuses what is not a policy', () => {
    for (const value of [
      undefined,
      null,
      [],
      {},
      { allow: [] },
      { ...OPEN_NETWORK, more: [] },
      { allow: [1], deny: [] },
    ])
      expect(() => parseNetworkPolicy(value)).toThrow('network must have');
    expect(() => parseNetworkPolicy({ allow: [], deny: ['x'] })).toThrow('network.deny[0]');
    expect(parseNetworkPolicy({ ...CLOSED_NETWORK })).toEqual(CLOSED_NETWORK);
  });
});

it('is closed when it denies all and allows nothing', () => {
  expect(
    [CLOSED_NETWORK, OPEN_NETWORK, { allow: ['1.1.1.1'], deny: ['0.0.0.0/0'] }].map(isClosedNetwork),
  ).toEqual([true, false, false]);
});
