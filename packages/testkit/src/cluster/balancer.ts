import { once } from 'node:events';
import { createServer, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Balancer {
  readonly url: string;
  /** Sends requests to these servers from now on; those that are open go on. */
  serve(urls: readonly string[]): void;
  close(): Promise<void>;
}

/** Sends each request to the next of several servers, also within one connection: no client stays with one of them. */
export async function startBalancer(): Promise<Balancer> {
  let targets: readonly string[] = [];
  let turn = 0;
  const server = createServer((request, response) => {
    const target = targets[turn++ % targets.length] as string;
    const { method, url = '/', headers } = request;
    const out = openRequest(new URL(url, target), { agent: false, method, headers });
    out.on('response', (answer) => {
      response.writeHead(answer.statusCode as number, answer.rawHeaders);
      answer.on('error', () => response.destroy()).pipe(response);
      response.flushHeaders();
    });
    out.on('error', () => response.destroy());
    response.on('close', () => out.destroy());
    request.on('error', () => out.destroy()).pipe(out);
  });
  // The servers behind it decide, whose answers tell clients how long a connection stays.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve: (urls) => {
      targets = urls;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
