import { describe, expect, it } from 'vitest';
import { blockedRanges } from './blocked.ts';
import { OPEN_NETWORK } from './policy.ts';
import { toGuestRules, toHostRules, toLinkRules } from './rules.ts';
import { isIn, parseRules } from './testing/run-rules.ts';

// First and last address of what the registry of RFC 6890 calls not globally reachable, and of the metadata services.
const notPublic = [
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.0', '127.255.255.255', '169.254.0.0', '169.254.255.255', '172.16.0.0', '172.31.255.255'],
  ...['192.0.0.0', '192.0.0.255', '192.0.2.0', '192.0.2.255', '192.88.99.0', '192.88.99.255'],
  ...['198.18.0.0', '198.19.255.255', '198.51.100.0', '198.51.100.255', '203.0.113.0', '203.0.113.255'],
  ...['192.168.0.0', '192.168.255.255'],
  ...['224.0.0.0', '239.255.255.255', '240.0.0.0', '255.255.255.255'],
  ...['168.63.129.16', '169.254.169.254', '100.100.100.200', '192.0.0.192'],
];
// Their neighbours.
const publicAddresses = [
  ...[
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
  ],
  ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...[
    '191.255.255.255',
    '192.0.1.0',
    '192.0.1.255',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
  ],
  ...['192.88.98.255', '192.88.100.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '203.0.114.0'],
];

const closedAddresses = ['5.6.7.8'];
const surroundings = { resolvers: ['9.9.9.9'], closedAddresses, policy: OPEN_NETWORK };
const rules = {
  'of the sandbox': toGuestRules(surroundings),
  'of its link': toLinkRules(surroundings, 'eth0'),
  'of the host': toHostRules(surroundings),
};

describe('what is closed to sandboxes', () => {
  it.each(notPublic)('%s is', (address) => {
    expect(isIn(blockedRanges, address)).toBe(true);
  });

  it.each(publicAddresses)('%s is not', (address) => {
    expect(isIn(blockedRanges, address)).toBe(false);
  });

  it.each(Object.entries(rules))('is the same in the rules %s', (_name, text) => {
    const set = parseRules(text).sets.get('blocked') ?? [];
    const whole = [...blockedRanges, ...closedAddresses].map((range) =>
      range.includes('/') ? range : `${range}/32`,
    );
    expect(set.toSorted()).toEqual(whole.toSorted());
  });
});
