import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { isSameSecret } from '@skerry/contract/agent-access';
import { forwardedProtocol } from '@skerry/contract/forwarded-protocol';
import type { Target } from '../target.ts';

/** The name of the parameter of a link to a private port, and of the cookie that the link is exchanged for. */
const name = 'skerry_link';
/** Browsers take this name from the host itself alone, over TLS. */
const securedName = `__Host-${name}`;

/** A day, and what two clocks may differ. */
const maxLifetimeSeconds = 86_400 + 300;

/** A private port, and what links to it are signed with. */
export interface PrivatePort {
  readonly target: Target;
  readonly trafficToken: string;
}

/** How long a ticket opens the port, in seconds; undefined when it does not. */
const readLifetime = (ticket: string, { target, trafficToken }: PrivatePort): number | undefined => {
  const [, expiry = '', signature = ''] = /^v1\.([1-9]\d{0,11})\.([\da-f]{64})$/.exec(ticket) ?? [];
  const signed = `port-link:${target.port}-${target.sandboxId}:${expiry}`;
  const expected = createHmac('sha256', trafficToken).update(signed).digest('hex');
  const seconds = Number(expiry) - Math.floor(Date.now() / 1000);
  return isSameSecret(signature, expected) && seconds > 0 && seconds <= maxLifetimeSeconds
    ? seconds
    : undefined;
};

/** What a link is answered with: the address without it, and the cookie that opens that. */
export interface Exchange {
  readonly location: string;
  readonly cookie: string;
}

/** Returns undefined for a request that is no link, and `invalid` for one that does not open this port now. */
export const exchangeLink = (
  request: IncomingMessage,
  port: PrivatePort,
): Exchange | 'invalid' | undefined => {
  // A body would be lost in the redirect.
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const { path, ticket, rest } = splitLink(request);
  if (ticket === undefined) return undefined;
  const seconds = readLifetime(ticket, port);
  if (seconds === undefined) return 'invalid';
  // Two slashes, or one and a backslash, would begin the name of another host.
  const location = `/${path.replace(/^[/\\]+/, '')}${rest === '' ? '' : `?${rest}`}`;
  const isSecured = isOverTls(request);
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecured ? '; Secure' : ''}`;
  return { location, cookie: `${isSecured ? securedName : name}=${ticket}; ${attributes}` };
};

/** The address of a request without a link, which the program inside has no use for. Undefined for a request without one. */
export const withoutLink = (request: IncomingMessage): string | undefined => {
  const { path, ticket, rest } = splitLink(request);
  return ticket === undefined ? undefined : `${path}${rest === '' ? '' : `?${rest}`}`;
};

const splitLink = ({ url = '/' }: IncomingMessage) => {
  const [path, query] = splitOnce(url, '?');
  const pairs = query.split('&');
  const isOurs = (pair: string): boolean => pair.startsWith(`${name}=`);
  const ticket = pairs.find(isOurs)?.slice(name.length + 1);
  return { path, ticket, rest: pairs.filter((pair) => !isOurs(pair)).join('&') };
};

/** The cookies of a request, apart from those of links. */
export interface PortCookies {
  /** Whether one of them opens the port, and the request is not that of a page of another host. */
  readonly isOpening: boolean;
  /** Whether there are any of links. */
  readonly hasTickets: boolean;
  /** The value of the header without them; empty when nothing is left. */
  readonly others: string;
}

/** Reads the cookies of a request to a private port. */
export const readCookies = (request: IncomingMessage, port: PrivatePort): PortCookies => {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const ticketOf = (pair: string): string | undefined => {
    const [key, value] = splitOnce(pair, '=');
    return key.trim() === name || key.trim() === securedName ? value.trim() : undefined;
  };
  const tickets = pairs.map(ticketOf).filter((ticket) => ticket !== undefined);
  // A page of another sandbox can set a cookie of the same name for the domain above both: it must not hide the right one.
  const hasValid = tickets.some((ticket) => readLifetime(ticket, port) !== undefined);
  return {
    isOpening: hasValid && isOfSameOrigin(request),
    hasTickets: tickets.length > 0,
    others: pairs.filter((pair) => ticketOf(pair) === undefined).join('; '),
  };
};

/**
 * Whether a browser says that its user, or a page of the host itself, made the request. The cookie goes along with requests of pages
 * of other sandboxes too, because these are on the same site.
 */
const isOfSameOrigin = ({ headers, method }: IncomingMessage): boolean => {
  const { origin, host } = headers;
  if (origin !== undefined && !isOriginOf(origin, host ?? '')) return false;
  // Browsers send the origin of each WebSocket, some of them nothing else of where it comes from.
  if (origin === undefined && headers.upgrade !== undefined) return false;
  const site = headers['sec-fetch-site'];
  if (site !== 'same-site' && site !== 'cross-site') return true;
  const isOpened = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isOpened && (method === 'GET' || method === 'HEAD');
};

const isOriginOf = (origin: string, host: string): boolean =>
  ['http', 'https'].some((scheme) => origin.toLowerCase() === `${scheme}://${host.toLowerCase()}`);

/** Whether the client uses TLS, also to a proxy that ends it. */
const isOverTls = ({ socket, headers }: IncomingMessage): boolean =>
  (socket as Partial<TLSSocket>).encrypted === true || forwardedProtocol(headers) === 'https';

const splitOnce = (text: string, mark: string): [string, string] => {
  const index = text.indexOf(mark);
  return index === -1 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
};
