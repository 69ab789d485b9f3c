import { BlockList, isIPv6 } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an address is one of this host, as that of a proxy on it. */
export const isLoopback = (address: string): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
  return loopback.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
};

/** Returns an address as its connections are counted: of IPv6 the network of 64 bits, which one host has whole. */
export const toCountedAddress = (address: string): string => {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const middle = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...middle, ...after].slice(0, 4).join(':')}::/64`;
};
