import { readFileSync, statSync } from 'node:fs';
import { UserError } from '../../user-error.ts';

/** A secret that a DNS server shares with those who may change its zones (RFC 8945). */
export interface TsigKey {
  name: string;
  /** The name of the hash in `node:crypto`. */
  hash: 'sha256' | 'sha384' | 'sha512';
  secret: Buffer;
}

const form = 'key "NAME" { algorithm hmac-sha256; secret "BASE64"; };';

/** Reads a file as `tsig-keygen` of BIND writes it. Throws `UserError` when it has another form, or others may read it. */
export function readTsigKey(path: string): TsigKey {
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0)
      throw new UserError(`--acme-dns-key: other users may read ${path}: run chmod 600 on it`);
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`--acme-dns-key: ${(cause as Error).message}`, { cause });
  }
  const name = /^\s*key\s+"?([A-Za-z0-9._-]+?)\.?"?\s*\{/m.exec(text)?.[1];
  const hash = /\balgorithm\s+"?hmac-(sha256|sha384|sha512)"?\s*;/i.exec(text)?.[1]?.toLowerCase();
  const secret = /\bsecret\s+"([A-Za-z0-9+/=]+)"\s*;/.exec(text)?.[1];
  if (name === undefined || hash === undefined || secret === undefined)
    throw new UserError(`--acme-dns-key: ${path} has no key of the form ${form}`, {
      hint: 'hmac-sha256, hmac-sha384 and hmac-sha512 are known; "tsig-keygen NAME" makes one',
    });
  return { name: name.toLowerCase(), hash: hash as TsigKey['hash'], secret: Buffer.from(secret, 'base64') };
}
