import { unimplemented } from '@skerry/contract/error';
import type { PlatformRoute } from './platform-handlers.ts';

/** Operations of the document that this server does not implement. */
const operations = ['PUT /sandboxes/{sandboxID}/network'] as const satisfies readonly PlatformRoute[];

type NotImplementedRoute = (typeof operations)[number];

const refuse = (operation: string) => (): never => {
  throw unimplemented(`${operation} is not implemented by this server`);
};

/** Answers 501 to each of them, so that callers can distinguish it from a mistyped path. */
export const notImplemented = Object.fromEntries(
  operations.map((operation) => [operation, refuse(operation)]),
) as Record<NotImplementedRoute, () => never>;
