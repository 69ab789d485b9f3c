import { toSandboxError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { isLocalDomain } from './local-domain.ts';

/** The port on which the agent of every sandbox listens. */
export const agentPort = 49983;

type Addresses = Pick<Connection, 'apiUrl' | 'sandboxUrl'>;

interface SandboxName {
  sandboxId: string;
  /** The domain of the service with its port. */
  domain: string;
}

/** The host name of a port of a sandbox, with the port of the service if it has one. Throws `invalid_argument`. */
export function toSandboxHost({ sandboxId, domain }: SandboxName, port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw toSandboxError('invalid_argument', `port must be an integer from 1 to 65535, got ${port}`);
  }
  return `${port}-${sandboxId}.${domain}`;
}

/** `https:` unless the address of the service has `http:`. */
export function toScheme({ apiUrl, sandboxUrl }: Addresses): string {
  return new URL(sandboxUrl ?? apiUrl).protocol;
}

/**
 * The base URL for requests to the agent. On a local domain that is the service itself, because host names cannot be
 * resolved there: the headers of `toRoutingHeaders` identify the sandbox. An API at an IP address or localhost has the
 * edge on the same port, and takes precedence over a domain, which may be the localhost of another machine.
 */
export function toAgentUrl(addresses: Addresses, name: SandboxName): string {
  if (addresses.sandboxUrl) return addresses.sandboxUrl;
  if (!isLocalDomain(name.domain)) return `${toScheme(addresses)}//${toSandboxHost(name, agentPort)}`;
  const { host } = new URL(addresses.apiUrl);
  const url = new URL(`${toScheme(addresses)}//${isLocalDomain(host) ? host : name.domain}`);
  if (url.hostname.endsWith('.localhost')) url.hostname = 'localhost';
  return url.origin;
}

/**
 * Identifies the sandbox to a shared host; other hosts ignore these headers. Send both or neither, or the edge answers
 * 400.
 */
export function toRoutingHeaders(sandboxId: string): Record<string, string> {
  return { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': String(agentPort) };
}
