import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { checkCertificate } from './check-certificate.ts';

/** When a certificate is valid, in milliseconds since the epoch. */
export interface Validity {
  from: number;
  until: number;
}

/** Orders since the last one that gave a certificate. */
export interface Attempts {
  count: number;
  /** The authority is not asked before that time, in milliseconds since the epoch. */
  nextAt: number;
}

/** The folder of an account and its certificates. */
export interface CertificateFolder {
  /** Key and certificates in one file, which is replaced as a whole. */
  readonly file: string;
  readAccountKey(): KeyObject;
  /** Undefined without a certificate for the domain. */
  readValidity(): Validity | undefined;
  /**
   * Replaces key and certificates, and forgets the attempts. The file then survives a loss of power. Throws `AcmeError` for what is no
   * certificate of the domain, and leaves the file as it is.
   */
  write(pem: string): void;
  /** The file of the attempts. Without it the authority may be asked at once. */
  readonly attemptsFile: string;
  readAttempts(): Attempts | undefined;
  writeAttempts(attempts: Attempts): void;
}

/** Makes the folder, closed to other users, unless it is there. */
export function openCertificateFolder(folder: string, domain: string): CertificateFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${domain}.pem`);
  const attemptsFile = join(folder, `${domain}.attempts.json`);
  const accountFile = join(folder, 'account.key');
  return {
    file,
    attemptsFile,
    readAccountKey() {
      const kept = readIfThere(accountFile);
      if (kept !== undefined) return createPrivateKey(kept);
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      replaceFile(folder, accountFile, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
      return privateKey;
    },
    readValidity() {
      const kept = readIfThere(file);
      if (kept === undefined) return undefined;
      try {
        const { validFromDate, validToDate } = new X509Certificate(kept);
        return { from: validFromDate.getTime(), until: validToDate.getTime() };
      } catch {
        // A damaged file is replaced as a missing one is.
        return undefined;
      }
    },
    write(pem) {
      checkCertificate(pem, domain);
      replaceFile(folder, file, pem);
      rmSync(attemptsFile, { force: true });
    },
    readAttempts: () => parseAttempts(readIfThere(attemptsFile)),
    writeAttempts: (attempts) => replaceFile(folder, attemptsFile, JSON.stringify(attempts)),
  };
}

function parseAttempts(text: string | undefined): Attempts | undefined {
  if (text === undefined) return undefined;
  try {
    const { count, nextAt } = JSON.parse(text) as Partial<Attempts>;
    return Number.isSafeInteger(count) && Number.isSafeInteger(nextAt)
      ? { count: count as number, nextAt: nextAt as number }
      : undefined;
  } catch {
    // A damaged file must not keep a server from its certificate.
    return undefined;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A process that is killed leaves the old file or the new one. */
function replaceFile(folder: string, path: string, text: string): void {
  const next = `${path}.new`;
  const file = openSync(next, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  const parent = openSync(folder, 'r');
  try {
    fsyncSync(parent);
  } finally {
    closeSync(parent);
  }
}
