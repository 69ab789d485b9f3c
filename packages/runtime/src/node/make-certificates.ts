// The library takes its metadata from this one, which must be loaded before it.
import 'reflect-metadata';
import { createHash, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { type CertificateRole, toRoleUri } from './certificate-role.ts';

/** A certificate and its private key, as PEM. */
export interface CertificateWithKey {
  cert: string;
  key: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Clocks of machines differ a little. */
const EARLY_MS = 3_600_000;

/** Ten years: everything that trusts an authority has to be given the next one by hand. */
const AUTHORITY_DAYS = 3_652;

/** The longest common name (RFC 5280, upper bounds). */
const MAX_NAME_LENGTH = 64;

/** The common name of an authority, for nodes unless there is a domain. Each domain has another one, as long as it may be. */
export function toAuthorityName(domain?: string): string {
  if (domain === undefined) return 'skerry nodes';
  const name = `skerry domain ${domain}`;
  if (name.length <= MAX_NAME_LENGTH) return name;
  const digest = createHash('sha256').update(domain).digest('hex').slice(0, 16);
  return `${name.slice(0, MAX_NAME_LENGTH - digest.length - 1)} ${digest}`;
}

/** Makes an authority that signs the certificates of one installation. With a domain, clients believe it for that and the names below alone. */
export async function makeAuthority({
  days = AUTHORITY_DAYS,
  now = Date.now(),
  domain,
}: Partial<Validity> & { domain?: string } = {}): Promise<CertificateWithKey> {
  const keys = await makeKeys();
  const cert = await X509CertificateGenerator.createSelfSigned({
    ...toPeriod({ days, now }),
    name: [{ CN: [toAuthorityName(domain)] }],
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      // The authority signs no further authorities.
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...(domain === undefined ? [] : [constrainNames(domain)]),
    ],
  });
  return { cert: toPem(cert), key: await toKeyPem(keys.privateKey) };
}

/**
 * Name constraints (RFC 5280, 4.2.1.10), which the library has no class for: a subtree of DNS names that are permitted, and all addresses,
 * which are excluded.
 */
function constrainNames(domain: string): Extension {
  // DER: a length from 128 on has a byte before it that says how many bytes it takes.
  const wrap = (tag: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([tag, ...(content.length < 128 ? [] : [0x81]), content.length]), content]);
  const names = wrap(0x30, wrap(0x82, Buffer.from(domain)));
  // An address and its mask, of both lengths; a mask of zeros means every address.
  const addresses = [8, 32].map((length) => wrap(0x30, wrap(0x87, Buffer.alloc(length))));
  const content = Buffer.concat([wrap(0xa0, names), wrap(0xa1, Buffer.concat(addresses))]);
  return new Extension('2.5.29.30', true, new Uint8Array(wrap(0x30, content)));
}

/** The longest domain for `makeAuthority` and `makeServerCertificate`. */
export const MAX_DOMAIN_LENGTH = 100;

/** Makes a certificate for a domain and the names one level below, signed by an authority. Rejects when that has no usable key. */
export async function makeServerCertificate(domain: string, options: Signing): Promise<CertificateWithKey> {
  const keys = await makeKeys();
  const names = toDnsNames(domain);
  const usages = [ExtendedKeyUsage.serverAuth];
  const cert = await issue({ name: domain, names, usages, publicKey: keys.publicKey }, options);
  return { cert, key: await toKeyPem(keys.privateKey) };
}

/** Makes a certificate for one role, signed by an authority. Rejects when that has no usable key. */
export async function makeCertificate(role: CertificateRole, options: Signing): Promise<CertificateWithKey> {
  const keys = await makeKeys();
  const cert = await sign(role, keys.publicKey, options);
  return { cert, key: await toKeyPem(keys.privateKey) };
}

/**
 * Makes a key, and a request for a certificate of it: for a domain and the names one level below, or without names, where who signs it
 * decides for which role it is.
 */
export async function makeRequest({
  domain,
}: {
  domain?: string;
} = {}): Promise<{ request: string; key: string }> {
  const keys = await makeKeys();
  const extensions = domain === undefined ? [] : [new SubjectAlternativeNameExtension(toDnsNames(domain))];
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions,
  });
  return { request: `${request.toString('pem')}\n`, key: await toKeyPem(keys.privateKey) };
}

/** Whether the text is a request whose sender has the key in it. */
export async function isRequest(text: string): Promise<boolean> {
  try {
    return await new Pkcs10CertificateRequest(text).verify();
  } catch {
    return false;
  }
}

/**
 * Signs the key of a request, for which `isRequest` holds, for that role; what else the request asks for does not count. Rejects for a
 * key of another kind, and when the authority has no usable key.
 */
export async function signRequest(
  role: CertificateRole,
  { request, ...options }: Signing & { request: string },
): Promise<string> {
  const { publicKey } = new Pkcs10CertificateRequest(request);
  return sign(role, await publicKey.export(algorithm, ['verify']), options);
}

const sign = (role: CertificateRole, publicKey: CryptoKey, options: Signing): Promise<string> =>
  issue(
    {
      name: role.role === 'platform' ? 'platform' : role.name,
      names: [{ type: 'url', value: toRoleUri(role) }],
      // A node accepts connections and makes none; with the certificate of a node nothing can be dialed. Servers accept those of
      // each other.
      usages: [
        ...(role.role === 'platform' ? [ExtendedKeyUsage.clientAuth] : []),
        ExtendedKeyUsage.serverAuth,
      ],
      publicKey,
    },
    options,
  );

interface Subject {
  name: string;
  names: ConstructorParameters<typeof SubjectAlternativeNameExtension>[0];
  usages: ExtendedKeyUsage[];
  publicKey: CryptoKey;
}

async function issue(
  { name, names, usages, publicKey }: Subject,
  { authority, days, now = Date.now() }: Signing,
): Promise<string> {
  const issuer = new X509Certificate(authority.cert);
  const pkcs8 = fromPem(authority.key);
  const signingKey = (await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, [
    'sign',
  ])) as CryptoKey;
  const cert = await X509CertificateGenerator.create({
    ...toPeriod({ days, now }),
    // The alternative name below has all of it.
    subject: [{ CN: [name.slice(0, MAX_NAME_LENGTH)] }],
    issuer: issuer.subject,
    signingAlgorithm: algorithm,
    signingKey,
    publicKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(usages),
      new SubjectAlternativeNameExtension(names),
      await AuthorityKeyIdentifierExtension.create(issuer),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return toPem(cert);
}

interface Signing extends Validity {
  authority: CertificateWithKey;
}

interface Validity {
  /** How long it is valid. */
  days: number;
  /** Milliseconds since the epoch. */
  now?: number;
}

const toDnsNames = (domain: string) =>
  [domain, `*.${domain}`].map((value) => ({ type: 'dns' as const, value }));

/** The library has the types of browsers, which know fewer usages of keys than Node. */
const makeKeys = async (): Promise<CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;

const toPeriod = ({ days, now }: { days: number; now: number }) => ({
  // 16 random bytes, positive as RFC 5280 (4.1.2.2) requires.
  serialNumber: `1${randomBytes(16).toString('hex').slice(1)}`,
  notBefore: new Date(now - EARLY_MS),
  notAfter: new Date(now + days * DAY_MS),
});

const toPem = (certificate: X509Certificate): string => `${certificate.toString('pem')}\n`;

async function toKeyPem(key: CryptoKey): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = bytes.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}

const fromPem = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]*-----|\s/g, ''), 'base64');
