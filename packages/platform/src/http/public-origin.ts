import type { IncomingHttpHeaders } from 'node:http';
import { forwardedProtocol } from '@skerry/contract/forwarded-protocol';

const hostForm = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The origin under which a caller has reached this server, for links in the answer. A proxy says by X-Forwarded-Proto
 * whether the caller uses TLS. Without it, `api.{domain}` means TLS: clients that are given a domain use `https` only. A server that ends TLS itself (`isSecure`)
 * believes neither.
 */
export const toPublicOrigin = (
  headers: IncomingHttpHeaders,
  domain: string | null,
  isSecure = false,
): string => {
  const { host = '' } = headers;
  const name = hostForm.test(host) ? host : (domain ?? 'localhost');
  const isNamed = domain !== null && !/^localhost(?::|$)/.test(domain) && name === `api.${domain}`;
  return `${isSecure ? 'https' : (forwardedProtocol(headers) ?? (isNamed ? 'https' : 'http'))}://${name}`;
};
