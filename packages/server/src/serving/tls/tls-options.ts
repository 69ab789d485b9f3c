import type { AcmeOptions } from '../../acme/acme-options.ts';
import type { CertificateFiles } from './read-certificate.ts';

/** How a server protects its port. */
export interface TlsOptions {
  /** The certificate and key for TLS; absent: the server speaks plain HTTP. */
  tls?: CertificateFiles | undefined;
  /** Where the certificate comes from, in the place of `tls`. */
  acme?: AcmeOptions | undefined;
  /** Whether others may reach a port without TLS. */
  allowsPlainHttp: boolean;
  /** The port that sends callers of plain HTTP to the one with TLS, 0 for a free one; absent: there is none. */
  httpRedirectPort?: number | undefined;
  /** How long browsers use TLS alone; absent: as they like. */
  hstsSeconds?: number | undefined;
}
