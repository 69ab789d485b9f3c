import { readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { withoutContained } from './ranges.ts';

/** Interfaces that skerry itself makes: links of sandboxes, and of the probe of `skerry doctor`. */
const isOwn = (name: string): boolean => name.startsWith('skv') || name.startsWith('skprobe');

/** A route of fewer bits is a way out, such as the two halves of a VPN, and no network of neighbours. */
const fewestBits = 8;

const toRange = (address: string, bits: number): string => `${address}/${bits < fewestBits ? 32 : bits}`;

/**
 * The addresses of this host and the networks that its links lead to without a gateway: its neighbours, which may trust
 * it for where it stands, also with public addresses. In the network namespace of the calling thread.
 */
export function findOnLinkRanges(): string[] {
  const own = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family }) => family === 'IPv4' && !isOwn(name))
      .map(({ address, cidr }) => toRange(address, Number(cidr?.split('/')[1] ?? 32))),
  );
  return withoutContained([
    ...own,
    ...parseOnLinkRoutes(readFileSync('/proc/thread-self/net/route', 'utf8')),
  ]);
}

const maxAgeMs = 1_000;
let recent: { namespace: string; ranges: string[]; at: number } | undefined;

/**
 * Returns what `findOnLinkRanges` found at most a second ago: it takes the longer, the more sandboxes have a
 * link, and many are often created at once.
 */
export function findRecentOnLinkRanges(): string[] {
  const namespace = readlinkSync('/proc/thread-self/ns/net');
  const now = performance.now();
  if (recent?.namespace !== namespace || now - recent.at > maxAgeMs)
    recent = { namespace, ranges: findOnLinkRanges(), at: now };
  return recent.ranges;
}

/** Returns the targets of routes that are up and have no gateway, from the text of `/proc/net/route`. */
export function parseOnLinkRoutes(text: string): string[] {
  const [isUp, hasGateway, isRejected] = [0x1, 0x2, 0x200];
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [name = '', target = '', , flagsHex = '', , , , mask = ''] = line.trim().split(/\s+/);
      const flags = Number.parseInt(flagsHex, 16);
      if (!/^[0-9A-F]{8}$/.test(target) || isOwn(name)) return [];
      if ((flags & isUp) === 0 || (flags & (hasGateway | isRejected)) !== 0) return [];
      // The file has addresses in the order of bytes of this machine, which is little-endian on all that
      // skerry runs on.
      const address = [...Buffer.from(target, 'hex')].reverse().join('.');
      const bits = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
      return bits < fewestBits ? [] : [`${address}/${bits}`];
    });
}
