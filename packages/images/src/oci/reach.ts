import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { ImageError } from '../image-error.ts';
import { isAllowedUrl, isLoopback } from './reference.ts';

export interface ReachOptions {
  headers: Record<string, string>;
  /** Makes the request a POST; without it, it is a GET. */
  body?: string | undefined;
  signal: AbortSignal;
}

/** Sends one request and resolves with the head of its answer, of any status. Redirects are not followed. */
export type Reach = (url: URL, options: ReachOptions) => Promise<Response>;

/** Reaches every host, as the operator's own requests may: plain http only on loopback. Rejects with `registry_refused`. */
export const reachAny: Reach = async (url, { body, ...options }) => {
  if (!isAllowedUrl(url)) throw new ImageError('registry_refused', `${url.origin} is not https`);
  return fetch(url, { ...options, ...toRequest(body) });
};

const toRequest = (body: string | undefined) => ({
  redirect: 'manual' as const,
  ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
});

class ClosedAddressError extends Error {}

/**
 * Reaches public addresses by https, and beside them only the authorities (`host[:port]`) that the operator allows. The address is
 * tested as the connection is made, so a name cannot change its address after the test. Rejects with `registry_refused`.
 */
export const createPublicReach = (settings: {
  isPublicAddress: (address: string) => boolean;
  allowed: readonly string[];
}): Reach => {
  const { isPublicAddress } = settings;
  const allowed = new Set(settings.allowed.map(toAuthority));
  let agent: Agent | undefined;
  return async (url, options) => {
    if (allowed.has(url.host)) return reachAny(url, options);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    // No lookup happens for an address.
    const isClosed = isIP(host) !== 0 && !isPublicAddress(host);
    if (isClosed || isLoopback(url.host)) throw notPublic(url);
    if (url.protocol !== 'https:') throw new ImageError('registry_refused', `${url.origin} is not https`);
    // Loaded when it is first needed: the helper starts without it.
    const undici = await import('undici');
    agent ??= new undici.Agent({ connect: { lookup: createPublicLookup(isPublicAddress) } });
    const { body, ...rest } = options;
    try {
      const answer = await undici.fetch(url, { ...rest, ...toRequest(body), dispatcher: agent });
      return answer as unknown as Response;
    } catch (error) {
      throw (error as Error).cause instanceof ClosedAddressError ? notPublic(url) : error;
    }
  };
};

const notPublic = ({ host }: URL): ImageError =>
  new ImageError(
    'registry_refused',
    `registry ${host} is not at a public address; the operator can allow it by skerry up --registry ${host}`,
  );

/** The authority in a URL of this registry, without the port that the scheme implies. */
const toAuthority = (text: string): string => {
  const url = `${isLoopback(text) ? 'http' : 'https'}://${text}`;
  return URL.canParse(url) ? new URL(url).host : text;
};

const createPublicLookup =
  (isPublicAddress: (address: string) => boolean): LookupFunction =>
  (hostname, options: LookupOptions, done) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return done(error, '');
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address)))
        return done(new ClosedAddressError(hostname), '');
      if (options.all) return done(null, addresses);
      return done(null, first.address, first.family);
    });
  };
