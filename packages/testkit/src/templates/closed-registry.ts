import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A registry on loopback that answers one user only. */
export interface ClosedRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
}

/** Opens the registry at `host` to one user, under an address of its own. */
export async function startClosedRegistry(
  host: string,
  { user, password }: { user: string; password: string },
): Promise<ClosedRegistry> {
  const expected = `Basic ${btoa(`${user}:${password}`)}`;
  const server = createServer(({ url = '', method, headers }, response) => {
    if (headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="closed"' }).end();
      return;
    }
    const { authorization: _, ...rest } = headers;
    request(new URL(url, `http://${host}`), { method, headers: { ...rest, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    })
      .on('error', () => response.destroy())
      .end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
