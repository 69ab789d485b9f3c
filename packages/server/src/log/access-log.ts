import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { requestIdOf } from '@skerry/contract/request-id';
import type { Log } from '@skerry/platform';

/**
 * Writes one line at level `debug` when the answer to a request, or the connection of an upgraded one, has ended, with
 * the id that `X-Request-Id` of the answer has. The path is left out for sandboxes, whose services may put secrets into
 * it, and so is the query for all.
 */
export function logAccess(
  log: Pick<Log, 'debug'>,
  request: IncomingMessage,
  answer: ServerResponse | Duplex,
  { isForSandbox }: { isForSandbox: boolean },
): void {
  const begin = performance.now();
  answer.once('close', () => {
    log.debug('request', {
      requestId: requestIdOf(request),
      method: request.method,
      ...(isForSandbox ? { host: request.headers.host } : { path: request.url?.split('?')[0] }),
      ...('statusCode' in answer && answer.headersSent ? { status: answer.statusCode } : {}),
      isComplete: answer.writableFinished,
      tookMs: Math.round(performance.now() - begin),
    });
  });
}
