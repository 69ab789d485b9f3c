import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import { blockedRanges } from '../network/blocked.ts';

/**
 * The host's own public IPv4 addresses. Packets of an ordinary user's sandboxes leave the host as connections of his: to
 * the host itself they would be those of a neighbour, and no chain of its firewall tells them apart.
 */
export function findHostAddresses(): string[] {
  const blocked = new BlockList();
  for (const range of blockedRanges) {
    const [address = '', bits] = range.split('/');
    blocked.addSubnet(address, Number(bits ?? 32));
  }
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address }) => family === 'IPv4' && !blocked.check(address))
    .map(({ address }) => address);
}
