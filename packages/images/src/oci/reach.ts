import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
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
  const method = toMethod(body);
  return fetch(url, { ...options, method, redirect: 'manual', ...(body !== undefined && { body }) });
};

const toMethod = (body: string | undefined): string => (body === undefined ? 'GET' : 'POST');

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
  const agent = new Agent({ lookup: createPublicLookup(isPublicAddress) });
  return async (url, options) => {
    if (allowed.has(url.host)) return reachAny(url, options);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    // No lookup happens for an address.
    const isClosed = isIP(host) !== 0 && !isPublicAddress(host);
    if (isClosed || isLoopback(url.host)) throw notPublic(url);
    if (url.protocol !== 'https:') throw new ImageError('registry_refused', `${url.origin} is not https`);
    try {
      return await send(url, { ...options, agent });
    } catch (error) {
      throw error instanceof ClosedAddressError ? notPublic(url) : error;
    }
  };
};

const notPublic = ({ host }: URL): ImageError =>
  new ImageError(
    'registry_refused',
    `registry ${host} is not at a public address; the operator can allow it by skerry up --registry ${host}`,
  );

/** As a URL of a registry at this authority has it: without the port that its scheme implies. */
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

const send = (url: URL, { body, ...options }: ReachOptions & { agent: Agent }): Promise<Response> =>
  new Promise((resolve, reject) => {
    request(url, { ...options, method: toMethod(body) }, (answer) => {
      try {
        resolve(toResponse(answer));
      } catch (error) {
        answer.destroy();
        reject(error);
      }
    })
      .on('error', reject)
      .end(body);
  });

const bodiless = [204, 205, 304];

const toResponse = (answer: IncomingMessage): Response => {
  const { statusCode = 0, headersDistinct } = answer;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = !bodiless.includes(statusCode);
  if (!hasBody) answer.on('error', () => undefined).resume();
  const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status: statusCode, headers });
};
