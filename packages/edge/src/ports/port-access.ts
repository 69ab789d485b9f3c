import type { IncomingMessage } from 'node:http';
import { ACCESS_TOKEN, isSameSecret } from '@skerry/contract/agent-access';
import { type PortAccess, TRAFFIC_TOKEN } from '@skerry/contract/directory';
import type { Target } from '../target.ts';
import { type Exchange, exchangeLink, readCookies, withoutLink } from './port-link.ts';

/** How a request to a port of a sandbox is forwarded. */
export interface PortRequest {
  /** Headers of the client that do not reach the program inside, in lower case. */
  readonly withheld: ReadonlySet<string>;
  /** Headers for the program inside, name and value in turn. */
  readonly added: readonly string[];
  /** The address that the program sees, if that is another one than the client's. */
  readonly url?: string | undefined;
}

/** What becomes of a request to a port. */
export type PortDecision =
  | { readonly kind: 'passed'; readonly passed: PortRequest }
  /** The request is a link. */
  | ({ readonly kind: 'exchanged' } & Exchange)
  | { readonly kind: 'refused'; readonly message: string };

const tokenAlone: ReadonlySet<string> = new Set([TRAFFIC_TOKEN]);
const open: PortRequest = { withheld: tokenAlone, added: [] };

/**
 * Checks the traffic token of a request to a port other than that of the agent, or a link or its cookie in its place, and decides what
 * the program there sees of the request: none of these, and the host name that the creator chose.
 */
export const decidePortRequest = (
  request: IncomingMessage,
  target: Target,
  { trafficToken, maskHost }: PortAccess,
): PortDecision => {
  const decided: PortDecision =
    trafficToken === undefined
      ? { kind: 'passed', passed: open }
      : decidePrivate(request, { target, trafficToken });
  if (decided.kind !== 'passed' || maskHost === undefined) return decided;
  const { withheld, added } = decided.passed;
  const mask = maskHost.replaceAll(`\${PORT}`, String(target.port));
  const names = ['Host', mask, 'X-Forwarded-Host', request.headers.host ?? ''];
  const passed = {
    ...decided.passed,
    withheld: new Set([...withheld, 'host', 'x-forwarded-host']),
    added: [...added, ...names],
  };
  return { kind: 'passed', passed };
};

const decidePrivate = (
  request: IncomingMessage,
  port: { target: Target; trafficToken: string },
): PortDecision => {
  const { headers } = request;
  const link = exchangeLink(request, port);
  if (link !== undefined && link !== 'invalid') return { kind: 'exchanged', ...link };
  const isToken = (name: string): boolean => isSameSecret(String(headers[name] ?? ''), port.trafficToken);
  // Some clients send the traffic token in the header for that of the agent.
  const isInBoth = isToken(ACCESS_TOKEN);
  const cookies = readCookies(request, port);
  if (isInBoth || isToken(TRAFFIC_TOKEN) || cookies.isOpening) {
    const withheld = [
      TRAFFIC_TOKEN,
      ...(isInBoth ? [ACCESS_TOKEN] : []),
      ...(cookies.hasTickets ? ['cookie'] : []),
    ];
    const added = cookies.hasTickets && cookies.others !== '' ? ['Cookie', cookies.others] : [];
    return { kind: 'passed', passed: { withheld: new Set(withheld), added, url: withoutLink(request) } };
  }
  return { kind: 'refused', message: `The ports of the sandbox are private: ${toProblem(request, link)}` };
};

const toProblem = ({ headers }: IncomingMessage, link: 'invalid' | undefined): string => {
  if (headers[TRAFFIC_TOKEN] !== undefined) return `the header ${TRAFFIC_TOKEN} has a wrong token`;
  return `the header ${TRAFFIC_TOKEN} is missing${link === 'invalid' ? ', and the link has expired or is of another port' : ''}`;
};
