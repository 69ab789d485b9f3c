import type { RequestListener } from 'node:http';
import { Code, ConnectError, type ConnectRouter, type ContextValues } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';

export interface NodeListenerOptions {
  router: ConnectRouter;
  /** Goes around each handler, after the interceptors of connect-es and what it makes of a message. */
  wrap: (handler: UniversalHandler) => UniversalHandler;
  contextValues: () => ContextValues;
  /** Called with what a handler or its connection failed with, unless the caller has gone. */
  onError: (path: string, error: unknown) => void;
}

/**
 * Answers requests by the procedures of a router, as `connectNodeAdapter` does, which allows nothing around a handler.
 * The path of a request must be that of a procedure.
 */
export const createNodeListener = (options: NodeListenerOptions): RequestListener => {
  const handlers = new Map(
    options.router.handlers.map((handler) => [handler.requestPath, options.wrap(handler)]),
  );
  return (req, res) => {
    const path = req.url?.split('?', 1)[0] ?? '';
    const handler = handlers.get(path);
    if (handler === undefined) {
      res.writeHead(404).end();
      return;
    }
    const request = universalRequestFromNodeRequest(req, res, undefined, options.contextValues());
    handler(request)
      .then((response) => universalResponseToNodeResponse(response, res))
      .catch((error: unknown) => {
        if (ConnectError.from(error).code !== Code.Aborted) options.onError(path, error);
      });
  };
};
