import type { NewWork } from '../../new-work.ts';
import type { PlatformHandlers, PlatformRoute } from '../platform-handlers.ts';

/** The operations that begin something which may outlast a server that is ending. Those that resume a sandbox look first whether it is paused. */
export const BEGINNING: readonly PlatformRoute[] = [
  'POST /sandboxes',
  'POST /v2/sandboxes',
  'POST /sandboxes/{sandboxID}/fork',
  'POST /v2/sandboxes/{sandboxID}/fork',
  'POST /sandboxes/{sandboxID}/resume',
  'POST /sandboxes/{sandboxID}/snapshots',
  'POST /v3/templates',
  'POST /v2/templates',
  'POST /v2/templates/{templateID}/builds/{buildID}',
];

/** Wraps handlers so that those which begin work refuse it when this server does. */
export function guardNewWork(handlers: PlatformHandlers, newWork: NewWork): PlatformHandlers {
  type Handler = (request: { context: { isForwarded: boolean } }) => unknown;
  const guarded = { ...(handlers as unknown as Record<PlatformRoute, Handler>) };
  for (const route of BEGINNING) {
    const handle = guarded[route];
    guarded[route] = (request) => {
      newWork.require(request.context);
      return handle(request);
    };
  }
  return guarded as unknown as PlatformHandlers;
}
