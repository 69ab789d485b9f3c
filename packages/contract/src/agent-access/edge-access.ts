import type { Access } from './access.ts';
import { isSameSecret } from './secret.ts';

/**
 * The header with which the edge marks a request as checked, in lower case. It holds what opened the route and the nonce of
 * the run. The edge removes it from what clients send.
 */
export const EDGE_ACCESS = 'x-skerry-access';

/** The value of the header. */
export const toEdgeAccess = (access: Access, edgeNonce: string): string => `${access} ${edgeNonce}`;

/** What the edge has found, or undefined when the value does not come from the edge of this run. */
export const parseEdgeAccess = (
  value: string | readonly string[],
  edgeNonce: string | undefined,
): Access | undefined => {
  if (typeof value !== 'string' || edgeNonce === undefined) return undefined;
  const mark = value.indexOf(' ');
  const access = value.slice(0, mark);
  if (!isSameSecret(value.slice(mark + 1), edgeNonce)) return undefined;
  return access === 'full' || access === 'signature' ? access : undefined;
};
