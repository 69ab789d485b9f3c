import { InvalidArgumentError } from 'commander';

/** Parses the authority of a registry, `host[:port]`. */
export function parseRegistry(text: string): string {
  const isAuthority = /^(?:\[[0-9a-f:]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?$/i.test(text);
  if (!isAuthority || !URL.canParse(`https://${text}`))
    throw new InvalidArgumentError('the registry must be a host, with its port if it has one.');
  return text.toLowerCase();
}

/** Parses the URL of an API, which has a host and a port alone: https, or http on this host. */
export function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  const isOrigin = url !== undefined && text.replace(/\/$/, '').toLowerCase() === url.origin;
  if (isOrigin && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)))
    return `${url.origin}/`;
  throw new InvalidArgumentError('the URL must be https://host, or http:// and a loopback address.');
}
