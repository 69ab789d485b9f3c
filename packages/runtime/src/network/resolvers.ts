import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';

/**
 * The files in which a host lists its name servers; the first one that names a server outside of loopback counts. In
 * the second and third systemd-resolved and NetworkManager keep the real servers behind their stub.
 */
const resolvConfFiles = [
  '/etc/resolv.conf',
  '/run/systemd/resolve/resolv.conf',
  '/run/NetworkManager/no-stub-resolv.conf',
];

/**
 * The IPv4 name servers of this host that a sandbox can use: at most three (the limit of resolv.conf(5)), none on
 * loopback. Empty when there is none.
 */
export function findResolvers(files: readonly string[] = resolvConfFiles): string[] {
  for (const file of files) {
    const servers = parseNameservers(readOrEmpty(file)).filter((server) => !server.startsWith('127.'));
    if (servers.length > 0) return servers.slice(0, 3);
  }
  return [];
}

/**
 * Returns `/etc/resolv.conf` of a sandbox with these servers. It has no search domains: those of the host are for the
 * host.
 */
export function toResolvConf(servers: readonly string[]): string {
  return servers.map((server) => `nameserver ${server}\n`).join('');
}

function parseNameservers(text: string): string[] {
  const servers: string[] = [];
  for (const line of text.split('\n')) {
    const server = /^nameserver\s+(\S+)/.exec(line)?.[1];
    if (server !== undefined && isIPv4(server) && !servers.includes(server)) servers.push(server);
  }
  return servers;
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // A host without this file does not use that resolver.
    return '';
  }
}
