import { describe, expect, it } from 'vitest';
import { isPublicAddress } from './public-address.ts';

describe('isPublicAddress', () => {
  it.each(['1.1.1.1', '93.184.215.14', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'is true for %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.31.255.255', '192.168.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...['168.63.129.16', '198.51.100.7', '224.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '64:ff9b::7f00:1',
      'fc00::1',
      'fd12::1',
      'fe80::1',
    ],
    ...['ff02::1', '2001:db8::1', '2001::1', '2002:7f00:1::', 'localhost', '', '127.1'],
  ])('is false for %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});
