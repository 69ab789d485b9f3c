import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';
import { net } from '../../loopback-client.ts';
import { createSecureFront, type SecureFront } from '../secure-front.ts';

const subject = [
  '-subj',
  '/CN=example.test',
  '-addext',
  'subjectAltName=DNS:example.test,DNS:*.example.test',
];

/** Makes a certificate for `example.test` and the names below it. Each is another one. */
export const makeCertificate = () => {
  const pem = execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-days', '2', ...subject, '-keyout', '-', '-out', '-'],
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const at = pem.indexOf('-----BEGIN CERTIFICATE-----');
  return { key: pem.slice(0, at), cert: pem.slice(at) };
};

export const certificate = makeCertificate();

/** The front of the current test, its port, and a connection of HTTP/2 to it. */
export let front: SecureFront;
export let port: number;
export let session: ClientHttp2Session;

/** Call once in a test file, after `useLoopback`: puts TLS before the edge of each test. */
export const useSecureFront = (): void => {
  beforeEach(async () => {
    front = createSecureFront({ server: net.server, certificate, log: { warn: () => undefined } });
    front.listener.listen(0, '127.0.0.1');
    await once(front.listener, 'listening');
    ({ port } = front.listener.address() as AddressInfo);
    session = await openSession();
  });
  afterEach(() => {
    session.destroy();
    front.close();
    front.listener.close();
  });
};

/** Opens a connection of HTTP/2, whose settings have arrived. */
export const openSession = async (ca: string = certificate.cert): Promise<ClientHttp2Session> => {
  const opened = connect(`https://127.0.0.1:${port}`, { ca, servername: 'example.test' });
  opened.on('error', () => undefined);
  await once(opened, 'remoteSettings');
  return opened;
};

/** Reads the answer to a request of HTTP/2 to its end. */
export const read = async (
  stream: ClientHttp2Stream,
): Promise<{ headers: IncomingHttpHeaders & { ':status'?: number }; body: string }> => {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return { headers, body: await text(stream) };
};
