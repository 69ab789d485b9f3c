import { createHmac } from 'node:crypto';
import type { AgentKeys } from '@skerry/contract/directory';

/**
 * The token that the agent of a secured sandbox requires. It is derived, so it is not stored and stays the same for the
 * whole life of the sandbox.
 */
export const toAccessToken = (secret: string, sandboxId: string): string =>
  createHmac('sha256', secret).update(`access:${sandboxId}`).digest('hex');

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
