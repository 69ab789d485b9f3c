import { unimplemented } from '@skerry/contract/error';
import type { PlatformRoute } from './platform-handlers.ts';

/** Operations of the document that this server does not offer. */
const operations = [
  'GET /templates',
  'GET /templates/aliases/{alias}',
  'GET /templates/{templateID}/builds/{buildID}/status',
  'GET /templates/{templateID}/files/{hash}',
  'GET /templates/{templateID}/tags',
  'PATCH /v2/templates/{templateID}',
  'DELETE /templates/tags',
  'POST /templates/tags',
  'POST /v2/templates',
  'POST /v2/templates/{templateID}/builds/{buildID}',
  'POST /v3/templates',
  'PUT /sandboxes/{sandboxID}/network',
] as const satisfies readonly PlatformRoute[];

type NotImplementedRoute = (typeof operations)[number];

const refuse = (operation: string) => (): never => {
  throw unimplemented(`${operation} is not implemented by this server`);
};

/** Answers 501 to each of them, so that callers can tell it from a mistyped path. */
export const notImplemented = Object.fromEntries(
  operations.map((operation) => [operation, refuse(operation)]),
) as Record<NotImplementedRoute, () => never>;
