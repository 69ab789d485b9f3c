import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { edgeServerOptions, guardConnections } from '@skerry/edge';
import type { Log } from '@skerry/platform';

/** A plain port that sends callers to the one with TLS. */
export interface HttpRedirect {
  readonly port: number;
  close(): Promise<void>;
}

/** Each connection ends with its answer: a few serve many callers. */
const BOUNDS = { all: 1024, keyless: 1024, keylessOfAddress: 64, unknown: 1024, unknownOfAddress: 64 };
const REQUEST_MS = 10_000;

/** The headers with which clients prove who they are. */
const secretHeaders = ['x-api-key', 'authorization', 'x-access-token', 'e2b-traffic-access-token'];

/**
 * Listens for plain HTTP and answers 308 with the same address under `https`, at the port of `domain`, for the domain, the names one level
 * below and `sharedHosts` alone. Another name gets 421, and a request with a key 403: a client that sends its key in plain must be
 * changed, which an answer that works would hide. Rejects when the port cannot be used.
 */
export async function openHttpRedirect({
  host,
  port,
  domain,
  sharedHosts,
  log,
}: {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** The domain with the port of TLS, if that is not 443. */
  domain: string;
  sharedHosts: readonly string[];
  log: Log;
}): Promise<HttpRedirect> {
  const [name = '', securePort = '443'] = domain.toLowerCase().split(':');
  const suffix = securePort === '443' ? '' : `:${securePort}`;
  const isServed = (hostname: string): boolean =>
    hostname === name ||
    sharedHosts.includes(hostname) ||
    (/^[a-z0-9-]+\./.test(hostname) && hostname.slice(hostname.indexOf('.') + 1) === name);

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const refuse = (status: number, message: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
    };
    const hostname = (request.headers.host ?? '')
      .replace(/:[0-9]*$/, '')
      .replace(/\.$/, '')
      .toLowerCase();
    const path = request.url ?? '';
    if (!isServed(hostname)) refuse(421, 'this server does not serve that host name');
    else if (!path.startsWith('/')) refuse(400, 'the path must begin with /');
    else if (secretHeaders.some((header) => request.headers[header] !== undefined))
      refuse(403, `the request carries a key in plain HTTP: use https://${hostname}${suffix}`);
    else response.writeHead(308, { location: `https://${hostname}${suffix}${path}` }).end();
  };

  const server = createServer({
    ...edgeServerOptions,
    requestTimeout: REQUEST_MS,
    headersTimeout: REQUEST_MS,
    shouldUpgradeCallback: () => false,
  });
  const guard = guardConnections(server, { bounds: BOUNDS, log });
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    guard.begin(request, response);
    answer(request, response);
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
  server.listen({ host, port });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
