import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { Agent, createServer, request as openRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { boundStrangers } from '@skerry/contract/strangers';
import { edgeServerOptions } from '@skerry/edge';
import { type Log, type Peers, UnreachablePeerError } from '@skerry/platform';
import { type Credentials, parseRole } from '@skerry/runtime/node';
import { parseAddress } from './node-address.ts';

export interface RunningPeers extends Peers {
  /** `host:port` at which other servers reach this one. */
  address: string;
  close(): Promise<void>;
}

/** The time in which the other side must accept a connection. */
const CONNECT_MS = 5_000;

/** Another server opens a connection for each call that it forwards at the same time. */
const STRANGERS = { all: 1_024, ofAddress: 768, timeoutMs: 10_000 };

/**
 * Passes the requests of other servers, over TLS 1.3 with certificates of the platform on both sides, to the HTTP server of this one.
 * Resolves when it listens.
 */
export async function listenForPeers({
  listen,
  credentials,
  server,
  log,
}: {
  listen: { host: string; port: number };
  credentials: Credentials;
  server: Server;
  log: Log;
}): Promise<RunningPeers> {
  const { cert, key, ca } = credentials;
  const tls = { cert, key, ca, minVersion: 'TLSv1.3' as const };
  const strangerLog = createQuietLog({ warn: (message, fields) => log.warn(message, fields) });
  const strangers = boundStrangers('the port for other servers', { bounds: STRANGERS, log: strangerLog });
  const fromPeers = new WeakSet<Socket>();
  const open = new Set<Socket>();
  // A server of its own: the bounds of the other one are for callers without a certificate.
  const listener = createServer(
    { ...edgeServerOptions, ...tls, requestCert: true, rejectUnauthorized: true },
    (request, response) => server.emit('request', request, response),
  );
  listener.on('secureConnection', (socket: TLSSocket) => {
    if (parseRole(socket.getPeerX509Certificate()?.subjectAltName)?.role === 'platform') {
      strangers.accept(socket);
      fromPeers.add(socket);
    } else socket.destroy();
  });
  listener.on('connection', (socket: Socket) => {
    strangers.add(socket);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  listener.on('tlsClientError', (error, { remoteAddress }) =>
    strangerLog('a connection of another server failed', { address: remoteAddress, error }),
  );
  const listening = once(listener, 'listening');
  listener.listen(listen);
  await listening;
  const { port } = listener.address() as AddressInfo;
  const agent = new Agent({
    ...tls,
    keepAlive: true,
    // A resumed session would not show its certificate again.
    maxCachedSessions: 0,
    servername: 'platform',
    checkServerIdentity: requirePlatform,
  });

  return {
    address: `${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${port}`,
    isFromPeer: ({ socket }) => fromPeers.has(socket),
    send: (address, { method, path, headers, body }, signal) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const request = openRequest({ ...parseAddress(address), agent, method, path, headers, signal });
        const late = setTimeout(() => request.destroy(new Error('it cannot be reached')), CONNECT_MS);
        let isConnected = false;
        const onConnect = (): void => {
          isConnected = true;
          clearTimeout(late);
        };
        request.once('socket', (socket) => {
          // A call that was given up may have left a connection that is not made yet.
          if (request.reusedSocket && (socket as TLSSocket).authorized) onConnect();
          else socket.once('secureConnect', onConnect);
        });
        const fail = (cause: Error): void =>
          reject(isConnected || signal.aborted ? cause : new UnreachablePeerError({ cause }));
        request.once('error', fail).once('close', () => clearTimeout(late));
        request.once('response', resolve);
        if (body instanceof Readable) body.once('error', (error) => request.destroy(error)).pipe(request);
        else request.end(body);
      }),
    close: async () => {
      agent.destroy();
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** The names of hosts do not count, as for nodes. */
function requirePlatform(_host: string, { subjectaltname }: PeerCertificate): Error | undefined {
  if (parseRole(subjectaltname)?.role === 'platform') return undefined;
  return new Error('its certificate is not for the platform');
}
