import { createHmac } from 'node:crypto';

/**
 * The token that the agent of a secured sandbox asks for. It is derived, so nothing is stored and it stays the same for
 * the whole life of the sandbox.
 */
export const toAccessToken = (secret: string, sandboxId: string): string =>
  createHmac('sha256', secret).update(`access:${sandboxId}`).digest('hex');
