import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
  type Server,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline } from 'node:stream';

export interface ForwarderOptions {
  /** Where requests are sent. */
  origin: string;
  /** Host name that leads to the port of the sandbox. */
  host: string;
  /** Absent where the ports of the sandbox are public. */
  trafficAccessToken?: string;
}

/** A server, not yet listening, that passes each request and each upgrade on, with the sandbox's host name in place of its own. */
export function createForwarder({ origin, host, trafficAccessToken }: ForwarderOptions): Server {
  const url = new URL(origin);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  // Most hosts cannot resolve names below it. The service finds the sandbox by the header `Host`.
  const hostname = url.hostname.endsWith('.localhost') ? 'localhost' : url.hostname;
  const toOptions = ({ method, url: path, headers }: IncomingMessage): RequestOptions => ({
    method,
    path,
    hostname,
    port: url.port,
    // The certificate is that of the sandbox's name.
    ...(url.protocol === 'https:' ? { servername: host.replace(/:\d+$/, '') } : {}),
    headers: {
      ...headers,
      host,
      ...(trafficAccessToken === undefined ? {} : { 'e2b-traffic-access-token': trafficAccessToken }),
    },
  });
  const server = createServer((incoming, answer) => {
    const sent = request(toOptions(incoming), (received) => {
      answer.writeHead(received.statusCode ?? 502, received.rawHeaders);
      pipeline(received, answer, () => undefined);
    });
    sent.on('error', (error) => {
      if (answer.headersSent) return void answer.destroy();
      answer.writeHead(502, { 'content-type': 'text/plain' }).end(`skerry: ${error.message}\n`);
    });
    pipeline(incoming, sent, () => undefined);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const sent = request(toOptions(incoming));
    sent.once('error', () => socket.destroy());
    // The service refused the upgrade.
    sent.once('response', (received) => {
      socket.end(`HTTP/1.1 ${received.statusCode} ${received.statusMessage}\r\nconnection: close\r\n\r\n`);
    });
    sent.once('upgrade', (received, upgraded, first) => {
      const lines = received.rawHeaders.map((word, at) => (at % 2 === 0 ? `${word}: ` : `${word}\r\n`));
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      socket.write(first);
      upgraded.write(head);
      pipeline(upgraded, socket, upgraded, () => undefined);
    });
    sent.end();
  });
  return server;
}
