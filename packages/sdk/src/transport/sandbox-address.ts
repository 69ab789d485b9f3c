import { toSandboxError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { isLocalDomain } from './local-domain.ts';

/** The port on which the agent of every sandbox listens. */
export const agentPort = 49983;

type Addresses = Pick<Connection, 'apiUrl' | 'sandboxUrl'>;

interface SandboxName {
  sandboxId: string;
  /** With its port. */
  domain: string;
}

/** The host name of a port of a sandbox, with the port of the service if it has one. Throws `invalid_argument`. */
export function toSandboxHost({ sandboxId, domain }: SandboxName, port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw toSandboxError('invalid_argument', `port must be an integer from 1 to 65535, got ${port}`);
  }
  return `${port}-${sandboxId}.${domain}`;
}

/** `https:` unless the service was named with `http:`. */
export function toScheme({ apiUrl, sandboxUrl }: Addresses): string {
  return new URL(sandboxUrl ?? apiUrl).protocol;
}

/**
 * Where requests to the agent go. On a local domain that is the service itself, as its host names cannot be resolved there:
 * the headers of `toRoutingHeaders` name the sandbox. An API that is reached by IP address or as localhost has the edge on
 * the same port, and is nearer than a domain which may be another machine's localhost.
 */
export function toAgentUrl(addresses: Addresses, name: SandboxName): string {
  if (addresses.sandboxUrl) return addresses.sandboxUrl;
  if (!isLocalDomain(name.domain)) return `${toScheme(addresses)}//${toSandboxHost(name, agentPort)}`;
  const { host } = new URL(addresses.apiUrl);
  const url = new URL(`${toScheme(addresses)}//${isLocalDomain(host) ? host : name.domain}`);
  if (url.hostname.endsWith('.localhost')) url.hostname = 'localhost';
  return url.origin;
}

/** Names the sandbox to a shared host; other hosts ignore them. Both or neither, or the edge answers 400. */
export function toRoutingHeaders(sandboxId: string): Record<string, string> {
  return { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': String(agentPort) };
}
