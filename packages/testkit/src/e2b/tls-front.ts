import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';

export interface TlsFront {
  /** Host and port that clients are given as their domain. */
  readonly domain: string;
  /** Passes what arrives from now on to that port of 127.0.0.1. */
  forwardTo(port: number): void;
  close(): Promise<void>;
}

/**
 * Ends TLS for a hostname and every name one level below, as the proxy of an operator does, and passes the bytes on. The
 * certificate is made here, and this process trusts it until `close`.
 */
export async function startTlsFront(hostname: string): Promise<TlsFront> {
  // Key and certificate on one output: nothing is written to disk.
  const { stdout: pem } = await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname},DNS:*.${hostname}`],
    ...['-keyout', '-', '-out', '-'],
  ]);
  const trusted = getCACertificates();
  setDefaultCACertificates([...trusted, pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----'))]);

  let target: number | undefined;
  const open = new Set<TLSSocket>();
  const server = createServer({ key: pem, cert: pem }, (client) => {
    if (target === undefined) return client.destroy();
    const upstream = connect(target, '127.0.0.1');
    open.add(client);
    client.on('close', () => {
      open.delete(client);
      upstream.destroy();
    });
    // A reset on one side is one on the other.
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    domain: `${hostname}:${(server.address() as AddressInfo).port}`,
    forwardTo(port) {
      target = port;
    },
    async close() {
      setDefaultCACertificates(trusted);
      server.close();
      for (const client of open) client.destroy();
      await once(server, 'close');
    },
  };
}
