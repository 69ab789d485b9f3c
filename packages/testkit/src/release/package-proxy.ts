import { createServer, request as requestPlain, type Server } from 'node:http';
import { request as requestTls } from 'node:https';
import { pipeline } from 'node:stream/promises';

/** Answers by TLS alone. A client that is to reach it through the proxy names it with `http:`. */
export const npmHost = 'registry.npmjs.org';

const hosts = [npmHost, 'deb.debian.org', 'archive.ubuntu.com', 'security.ubuntu.com'];

/**
 * A proxy for clients of packages that forwards `GET http://host/path` with the network of this process, and to the registry of npm by
 * TLS: a client needs no certificate of a network that opens TLS. It has no tunnels (`CONNECT`). Anything but a GET of a mirror is
 * refused with 403, so that no sandbox reaches the network of this process by it; 502 has the reason why a mirror did not answer.
 */
export function createPackageProxy(): Server {
  return createServer((asked, reply) => {
    const target = URL.parse(asked.url ?? '');
    if (asked.method !== 'GET' || target?.protocol !== 'http:' || !hosts.includes(target.host)) {
      reply.writeHead(403).end();
      return;
    }
    const isTls = target.hostname === npmHost;
    if (isTls) target.protocol = 'https:';
    const { 'proxy-connection': _, ...headers } = asked.headers;
    (isTls ? requestTls : requestPlain)(target, { headers })
      .on('response', (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        // A client that has gone needs no answer, and one that waits sees a broken one.
        pipeline(answer, reply).catch(() => reply.destroy());
      })
      .on('error', (error) => {
        if (reply.headersSent) reply.destroy();
        else reply.writeHead(502).end(`${target.href}: ${error.message}\n`);
      })
      .end();
  });
}
