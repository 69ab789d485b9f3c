import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeSelfSigned } from './make-self-signed.ts';

export interface TrustedCertificate extends Disposable {
  readonly certFile: string;
  readonly keyFile: string;
  /** The options of `skerry up` that name them. */
  readonly args: readonly string[];
  /** Puts another certificate and key into the files, one after the other, and trusts that too. */
  renew(): void;
}

/** Makes a certificate for a host name and those one level below, in files. This process trusts it until the end. */
export const makeTrustedCertificate = (hostname: string): TrustedCertificate => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-tls-'));
  const trusted = getCACertificates();
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const renew = (): void => {
    const { key, cert } = makeSelfSigned(hostname);
    setDefaultCACertificates([...getCACertificates(), cert]);
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
  };
  renew();
  return {
    certFile,
    keyFile,
    args: ['--tls-cert', certFile, '--tls-key', keyFile],
    renew,
    [Symbol.dispose]() {
      setDefaultCACertificates(trusted);
      rmSync(folder, { recursive: true });
    },
  };
};
