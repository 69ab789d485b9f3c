import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PortAccess } from '@skerry/contract/directory';
import { sendError, sendToAddress } from '../error-page.ts';
import type { Target } from '../target.ts';
import { decidePortRequest, type PortRequest } from './port-access.ts';

/** Answers a request to a private port that is not authorised, and a link to one. Returns `answered` then. */
export const passPortRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  { target, ports }: { target: Target; ports: PortAccess },
): PortRequest | 'answered' => {
  const decision = decidePortRequest(request, target, ports);
  if (decision.kind === 'passed') return decision.passed;
  if (decision.kind === 'exchanged') sendToAddress(response, decision);
  else sendError(request, response, { status: 403, message: decision.message, target });
  return 'answered';
};
