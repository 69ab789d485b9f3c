import { createHmac } from 'node:crypto';
import type { AgentKeys, PortAccess, Route } from '@skerry/contract/directory';
import type { SandboxRow } from './store/rows.ts';

/**
 * The token that the agent of a secured sandbox requires. It is derived, so it is not stored and stays the same for the
 * whole life of the sandbox.
 */
export const toAccessToken = (secret: string, sandboxId: string): string =>
  createHmac('sha256', secret).update(`access:${sandboxId}`).digest('hex');

/** The token that the ports of a sandbox require when they are private. Derived as the access token is. */
export const toTrafficToken = (secret: string, sandboxId: string): string =>
  createHmac('sha256', secret).update(`traffic:${sandboxId}`).digest('hex');

/** How requests to one run of a sandbox are authorised and passed on. */
export const toRouteKeys = (
  secret: string,
  row: Pick<SandboxRow, 'id' | 'secure' | 'ingress'>,
  runId: string,
): RouteKeys => ({
  agent: toAgentKeys(secret, row, runId),
  ports: toPortAccess(secret, row),
});

/** How the ports of a sandbox are reached, except that of its agent: the same for each run. */
export const toPortAccess = (
  secret: string,
  { id, ingress }: Pick<SandboxRow, 'id' | 'ingress'>,
): PortAccess => {
  const { isPrivate = false, ...others } = ingress ?? {};
  return { ...others, ...(isPrivate && { trafficToken: toTrafficToken(secret, id) }) };
};

export type RouteKeys = Pick<Route, 'agent' | 'ports'>;

/**
 * How requests to the agent of one run are authorised. The nonce is derived too, so that a server that finds the run after a
 * restart knows it.
 */
export const toAgentKeys = (
  secret: string,
  sandbox: { id: string; secure: boolean },
  runId: string,
): AgentKeys => ({
  ...(sandbox.secure && { accessToken: toAccessToken(secret, sandbox.id) }),
  edgeNonce: createHmac('sha256', secret).update(`edge:${sandbox.id}:${runId}`).digest('hex'),
});
