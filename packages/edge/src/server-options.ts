import type { IncomingMessage, ServerOptions } from 'node:http';
import { hasBody } from './headers.ts';
import { LingeringResponse } from './lingering-response.ts';

/** The maximum size of the head of a request or a response. */
export const maxHeaderBytes = 64 * 1024;

/**
 * What a `node:http` server must be created with to serve sandboxes: streams have no time limit, unused connections
 * stay for 620 s, and an offer to change the protocol that may be declined (`h2c`, or one with a body) is an ordinary
 * request.
 */
export const edgeServerOptions: ServerOptions<typeof IncomingMessage, typeof LingeringResponse> = {
  ServerResponse: LingeringResponse,
  requestTimeout: 0,
  // The limit of later requests on a connection; `first-head.ts` has less patience with the first.
  headersTimeout: 60_000,
  keepAliveTimeout: 620_000,
  maxHeaderSize: maxHeaderBytes,
  // Detects clients that vanished without closing the connection.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  shouldUpgradeCallback: (request: IncomingMessage): boolean =>
    request.headers.upgrade?.toLowerCase() !== 'h2c' && !hasBody(request),
};
