import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  MAX_DOMAIN_LENGTH,
  makeAuthority,
  makeServerCertificate,
  toAuthorityName,
} from '@skerry/runtime/node-certificates';
import { UserError } from '../user-error.ts';
import { readAuthority, writePair } from './write-certificates.ts';

/** The files of `initTls`, all absolute. */
export interface TlsFiles {
  domain: string;
  authority: string;
  cert: string;
  key: string;
  expiresAt: Date;
}

/**
 * Writes into a folder, which is made closed to other users: `ca.crt` and `ca.key`, an authority for the domain alone, unless it is there;
 * and `tls.crt` and `tls.key`, for the domain and `*.DOMAIN`. Rejects with `UserError` for what is no domain, and for a certificate that is there
 * unless `renew` is set.
 */
export async function initTls({
  dir,
  domain,
  days,
  renew,
}: {
  dir: string;
  domain: string;
  days: number;
  renew: boolean;
}): Promise<TlsFiles> {
  if (!/^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain) || domain.length > MAX_DOMAIN_LENGTH)
    throw new UserError(
      `--domain ${domain} is no domain: give a name in small letters without a port, of ${MAX_DOMAIN_LENGTH} characters at most`,
    );
  const folder = resolve(dir);
  const taken = join(folder, 'tls.crt');
  if (!renew && existsSync(taken))
    throw new UserError(`${taken} is there already: give --renew to replace it`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let authority = readAuthority(folder);
  if (authority === undefined) {
    authority = await makeAuthority({ domain });
    writePair(folder, 'ca', authority);
  }
  const { subject } = new X509Certificate(authority.cert);
  if (subject.startsWith('CN=skerry ') && subject !== `CN=${toAuthorityName(domain)}`)
    throw new UserError(
      `the authority in ${folder} is for another domain, or for nodes: choose another --dir`,
    );
  const made = await makeServerCertificate(domain, { authority, days });
  return { domain, authority: join(folder, 'ca.crt'), ...writePair(folder, 'tls', made) };
}
