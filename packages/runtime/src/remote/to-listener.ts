import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { ConnectRouter } from '@connectrpc/connect';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';

/**
 * Answers requests with the procedures of a router. `connectNodeAdapter` does this as well, but prints an error when the
 * client has disconnected.
 */
export const toListener = (
  router: ConnectRouter,
  onError: (error: Error) => void,
): ((request: Http2ServerRequest, response: Http2ServerResponse) => void) => {
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (nodeRequest, nodeResponse) => {
    const handler = handlers.get(nodeRequest.url);
    if (!handler) {
      nodeResponse.writeHead(404).end();
      return;
    }
    // Set a header that is not used here: connect-node throws when it is missing or cannot be parsed.
    nodeRequest.headers[':authority'] = 'runtime';
    const request = universalRequestFromNodeRequest(nodeRequest, nodeResponse, undefined, undefined);
    handler(request)
      .then((response) => universalResponseToNodeResponse(response, nodeResponse))
      .catch((error: Error) => {
        if (!request.signal.aborted) onError(error);
      });
  };
};
