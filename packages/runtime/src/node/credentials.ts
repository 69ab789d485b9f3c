import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { type CertificateRole, describeRole, parseRole } from './certificate-role.ts';

/** Paths of PEM files. */
export interface CredentialFiles {
  cert: string;
  /** The private key of that certificate. */
  key: string;
  /** The certificates of the authorities that sign those of all parts. */
  ca: string;
}

/** What one side of a connection between platform and node has, checked, as PEM. */
export interface Credentials {
  cert: string;
  key: string;
  ca: string;
  role: CertificateRole;
  expiresAt: Date;
}

/** The files of a certificate cannot be used. The message is for the operator and names the file. */
export class CredentialsError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CredentialsError';
  }
}

/**
 * Reads a certificate, its key and the authorities, and checks that they fit, are valid now, and are for that role. Throws
 * `CredentialsError` otherwise, and when other users of the host may read the key.
 */
export function loadCredentials(
  files: CredentialFiles,
  { role: expected, now = new Date() }: { role: CertificateRole['role']; now?: Date },
): Credentials {
  const [cert, key, ca] = [read(files.cert), readKey(files.key), read(files.ca)];
  const certificate = parse(files.cert, cert);
  if (!certificate.checkPrivateKey(parseKey(files.key, key)))
    throw new CredentialsError(`${files.key} is not the private key of ${files.cert}`);
  requireValid(files.cert, certificate, now);
  const authorities = splitPem(ca).map((one) => parse(files.ca, one));
  const issuer = authorities.find((one) => certificate.checkIssued(one) && certificate.verify(one.publicKey));
  if (issuer === undefined) throw new CredentialsError(`${files.cert} is not signed by ${files.ca}`);
  requireValid(files.ca, issuer, now);
  const role = parseRole(certificate.subjectAltName);
  if (role?.role !== expected)
    throw new CredentialsError(
      `${files.cert} is for ${describeRole(role)}, and this is ${expected === 'node' ? 'a node' : 'the platform'}`,
    );
  return { cert, key, ca, role, expiresAt: certificate.validToDate };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CredentialsError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      cause: error,
    });
  }
}

function readKey(path: string): string {
  const key = read(path);
  if ((statSync(path).mode & 0o077) !== 0)
    throw new CredentialsError(`other users may read the private key ${path}: run chmod 600 on it`);
  return key;
}

function parseKey(path: string, pem: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new CredentialsError(`${path} is not a private key in PEM form`, { cause: error });
  }
}

function parse(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new CredentialsError(`${path} is not a certificate in PEM form`, { cause: error });
  }
}

/** An authority that is being replaced stands beside its successor. */
function splitPem(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g);
  // The caller then reports that it is none.
  return found ?? [pem];
}

function requireValid(path: string, { validFromDate, validToDate }: X509Certificate, now: Date): void {
  if (now > validToDate) throw new CredentialsError(`${path} expired on ${validToDate.toISOString()}`);
  if (now < validFromDate)
    throw new CredentialsError(
      `${path} is valid from ${validFromDate.toISOString()} only: is the clock of this host right?`,
    );
}
