import { X509Certificate } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isNodeName, nodeNameForm } from '@skerry/contract/node-name';
import type { CertificateRole } from '@skerry/runtime/node';
import { type CertificateWithKey, makeAuthority, makeCertificate } from '@skerry/runtime/node-certificates';
import { UserError } from '../user-error.ts';

/** A file that was made, with its key beside it. */
export interface MadeCertificate {
  cert: string;
  key: string;
  expiresAt: Date;
}

/**
 * Writes into a folder, which is made closed to other users: `ca.crt` and `ca.key` unless they are there; a pair for each name,
 * that of `platform` for the platform and each other one for a node; and the pair of the platform when it is missing. Private keys
 * have mode 0600. Rejects with `UserError` for a wrong name, for a pair that is there unless `renew` is set, and for half an authority;
 * nothing is written then.
 */
export async function writeCertificates({
  dir,
  names,
  days,
  renew,
}: {
  dir: string;
  names: readonly string[];
  days: number;
  renew: boolean;
}): Promise<MadeCertificate[]> {
  const wrong = names.find((name) => !isNodeName(name) || name === 'ca');
  if (wrong !== undefined)
    throw new UserError(`"${wrong}" cannot be the name of a node: ${nodeNameForm}, and not "ca"`);
  const taken = renew ? undefined : names.find((name) => existsSync(join(dir, `${name}.crt`)));
  if (taken !== undefined)
    throw new UserError(`${join(dir, `${taken}.crt`)} is there already: give --renew to replace it`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const made: MadeCertificate[] = [];
  const keep = (name: string, pair: CertificateWithKey): void => {
    made.push(writePair(dir, name, pair));
  };
  let authority = readAuthority(dir);
  if (authority === undefined) {
    authority = await makeAuthority();
    keep('ca', authority);
  }
  const isPlatformMissing = !names.includes('platform') && !existsSync(join(dir, 'platform.crt'));
  for (const name of isPlatformMissing ? ['platform', ...names] : names)
    keep(name, await makeCertificate(toRole(name), { authority, days }));
  return made;
}

const toRole = (name: string): CertificateRole =>
  name === 'platform' ? { role: 'platform' } : { role: 'node', name };

/** The authority of a folder; undefined when there is none. Throws `UserError` for half of one, and for a key that others may read. */
export function readAuthority(dir: string): CertificateWithKey | undefined {
  const [cert, key] = [join(dir, 'ca.crt'), join(dir, 'ca.key')];
  if (!existsSync(cert) && !existsSync(key)) return undefined;
  const missing = [cert, key].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new UserError(`${missing} is missing: the authority needs its certificate and its key`);
  if ((statSync(key).mode & 0o077) !== 0)
    throw new UserError(`other users may read the private key ${key}: run chmod 600 on it`);
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

/** Writes a pair as `writeCertificates` does. The key first: a certificate without its key would not be made again. */
export function writePair(dir: string, name: string, { cert, key }: CertificateWithKey): MadeCertificate {
  const paths = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  writePrivate(paths.key, key);
  writeFileSync(paths.cert, cert, { mode: 0o644 });
  return { ...paths, expiresAt: new X509Certificate(cert).validToDate };
}

function writePrivate(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    // A file that was there keeps its mode.
    fchmodSync(file, 0o600);
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}
