import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { ServerCertificate } from '@skerry/edge/secure';
import { UserError } from '../../user-error.ts';

/** The files of a certificate with those that lead to its authority, and of its key, as PEM. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

/** Reads a certificate for a domain and the names one level below, and its key. Rejects with `UserError`, which names the file. */
export async function readCertificate(
  files: CertificateFiles,
  domain: string,
): Promise<ServerCertificate & { expiresAt: Date }> {
  const [cert, key] = await Promise.all([readPem('--tls-cert', files.cert), readPem('--tls-key', files.key)]);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (cause) {
    throw new UserError(`--tls-cert: ${files.cert} has no certificate in PEM form`, { cause });
  }
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const { message } = cause as Error;
    throw new UserError(
      `--tls-key: ${files.key} has no key for the certificate in ${files.cert}, or one with a password: ${message}`,
      { cause },
    );
  }
  // Clients know no wildcard below a name without a dot, such as localhost.
  const names = domain.includes('.') ? [domain, `name.${domain}`] : [domain];
  const missing = names.filter((name) => certificate.checkHost(name) === undefined);
  if (missing.length > 0)
    throw new UserError(
      `--tls-cert: the certificate in ${files.cert} is for ${certificate.subjectAltName ?? 'no name'}: it must be for ${domain} and *.${domain}`,
      { hint: '--domain names another domain; "skerry tls init" makes a certificate' },
    );
  return { cert, key, expiresAt: new Date(certificate.validTo) };
}

async function readPem(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new UserError(`${option}: ${(cause as Error).message}`, { cause });
  }
}
