import type { Server } from 'node:http';
import type { SecureFront } from '@skerry/edge/secure';
import type { Log } from '@skerry/platform';
import { type CertificateFiles, readCertificate } from './read-certificate.ts';
import { watchFiles } from './watch-files.ts';

/**
 * Speaks TLS for a server, with the certificate in the files as they change: a pair that cannot be used is logged, and the one before stays.
 * Rejects with `UserError` when the first pair cannot be used.
 */
export async function openSecureFront(
  server: Server,
  { files, domain, log }: { files: CertificateFiles /** Without a port. */; domain: string; log: Log },
): Promise<SecureFront> {
  const { createSecureFront } = await import('@skerry/edge/secure');
  const first = await readCertificate(files, domain);
  warnOfExpiry(first.expiresAt, log);
  const front = createSecureFront({ server, certificate: first, log });
  const renew = async (): Promise<void> => {
    try {
      const next = await readCertificate(files, domain);
      front.setCertificate(next);
      log.info('new connections get the certificate that was read again', {
        expiresAt: next.expiresAt.toISOString(),
      });
      warnOfExpiry(next.expiresAt, log);
    } catch (error) {
      log.warn('the changed certificate cannot be used: the one before stays', { error });
    }
  };
  const stop = watchFiles([files.cert, files.key], () => void renew());
  return {
    ...front,
    close() {
      stop();
      front.close();
    },
  };
}

function warnOfExpiry(expiresAt: Date, log: Log): void {
  if (expiresAt.getTime() > Date.now()) return;
  log.warn('the certificate has expired: clients refuse it', { expiresAt: expiresAt.toISOString() });
}
