import { execFileSync } from 'node:child_process';

/** Makes a certificate for a host name and those one level below, for two days, and its key, as PEM. */
export function makeSelfSigned(hostname: string): { key: string; cert: string } {
  const pem = execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname},DNS:*.${hostname}`],
      ...['-keyout', '-', '-out', '-'],
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const at = pem.indexOf('-----BEGIN CERTIFICATE-----');
  return { key: pem.slice(0, at), cert: pem.slice(at) };
}
