import type { IncomingMessage, RequestListener } from 'node:http';
import type { ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { type Agent, createAgent } from '../transport/agent.ts';
import { createConnection } from '../transport/connection.ts';
import { listen } from './listen.ts';

export const sandboxId = 'i4k2m9x7q1w8e3r5t6y0z';

/** A client of a real server with these Connect services and, for all other requests, this handler. */
export async function serveAgent(
  routes: (router: ConnectRouter) => void,
  fallback: RequestListener = (_request, response) => void response.writeHead(404).end(),
): Promise<{ agent: Agent; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  // The type of `fallback` allows for HTTP/2, which this server does not speak.
  const adapter = connectNodeAdapter({ routes, fallback: fallback as never });
  const domain = await listen((request, response) => {
    seen.push(request);
    adapter(request, response);
  });
  const connection = createConnection({ apiKey: 'e2b_00', domain });
  return { agent: createAgent({ connection, sandboxId, domain, accessToken: 'secret' }), seen };
}
