import { BlockList, isIP } from 'node:net';
import { blockedRanges } from './blocked.ts';

const closed = new BlockList();
for (const range of blockedRanges) {
  const [address = '', length = '32'] = range.split('/');
  closed.addSubnet(address, Number(length));
}
// Inside the block of public addresses: protocol assignments with Teredo, documentation, and 6to4, which wraps any IPv4 address.
for (const [address, length] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  closed.addSubnet(address, length, 'ipv6');

const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');

/**
 * Whether an address is on the public internet: no IPv4 address that sandboxes must not reach, and of IPv6 only global unicast.
 * False for what is no address.
 */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 4) return !closed.check(address, 'ipv4');
  return family === 6 && unicast.check(address, 'ipv6') && !closed.check(address, 'ipv6');
};
