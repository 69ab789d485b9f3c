import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isLoopback } from '@skerry/contract/counted-address';
import { toHostname } from '@skerry/contract/hostname';

/**
 * Whether a request over loopback names this host itself, or a name of `isKnown`: a page in a browser on this host can have its own name
 * point to it (DNS rebinding), and would be of one origin with the server. On other addresses administrators choose the names.
 */
export const hasOwnName = (
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isKnown: (name: string) => boolean = () => false,
): boolean => {
  if (!isLoopback(socket.remoteAddress ?? '')) return true;
  const name = toHostname(headers.host ?? '');
  return name === '' || name === 'localhost' || isIP(name) !== 0 || isKnown(name);
};

/** Returns the check of the names of a server: its domains and names with all below them, shared host names, and the name of this host. */
export const createNameCheck = ({
  domains,
  sharedHosts,
}: {
  domains: readonly string[];
  sharedHosts: readonly string[];
}): ((name: string) => boolean) => {
  const roots = ['localhost', ...domains.map(toHostname)];
  const exact = new Set([hostname().toLowerCase(), ...sharedHosts]);
  return (name) => exact.has(name) || roots.some((root) => name === root || name.endsWith(`.${root}`));
};
