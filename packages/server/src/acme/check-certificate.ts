import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { AcmeError } from './acme-error.ts';

const ONE_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Checks what a server is about to show: a key and its certificate, for a domain and the names one level below, which is valid now and followed
 * by those that lead to its authority. Throws `AcmeError`, which says what is wrong.
 */
export function checkCertificate(pem: string, domain: string, now = Date.now()): void {
  let fault: string | undefined;
  try {
    fault = findFault(pem, { domain, now });
    // Finds a key that is missing or another one, and what TLS takes for too weak.
    createSecureContext({ cert: pem, key: pem });
  } catch (error) {
    fault ??= (error as Error).message;
  }
  if (fault !== undefined)
    throw new AcmeError(`the authority sent a certificate that cannot be used: ${fault}`);
}

function findFault(pem: string, { domain, now }: { domain: string; now: number }): string | undefined {
  const chain = (pem.match(ONE_CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
  const [leaf] = chain;
  if (leaf === undefined) return 'it has no certificate in PEM form';
  const names = [domain, `name.${domain}`];
  if (names.some((name) => leaf.checkHost(name) === undefined))
    return `it is for ${leaf.subjectAltName ?? 'no name'}, and not for ${domain} and *.${domain}`;
  if (leaf.validToDate.getTime() <= now)
    return `it expired at ${leaf.validToDate.toISOString()}, by the clock of this machine`;
  for (const [index, issuer] of chain.slice(1).entries()) {
    const issued = chain[index];
    if (issued?.checkIssued(issuer) !== true || !issued.verify(issuer.publicKey))
      return `certificate ${index + 2} of it did not sign the one before`;
  }
  return undefined;
}
