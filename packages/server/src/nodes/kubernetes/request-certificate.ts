import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CertificatesV1Api } from '@kubernetes/client-node';
import { MembershipError } from '@skerry/platform';
import { makeRequest } from '@skerry/runtime/node-certificates';
import { UserError } from '../../user-error.ts';
import { isDue } from './installation-secrets.ts';

export interface RequestOptions {
  /** Gets `node.crt`, `node.key` and `ca.crt`. */
  dir: string;
  /** That of the authority. */
  signer: string;
  kubeconfig: string | undefined;
  /** How long the authority may take. */
  timeoutMs: number;
}

const INTERVAL_MS = 500;

/**
 * Has the authority of the installation sign a new key of this node, unless the folder has a certificate with more than a third of its
 * time left. The private key has mode 0600 and does not leave the folder. Rejects with `UserError` when the authority refuses, or does not
 * answer in time and the folder has no certificate that is valid.
 */
export async function requestCertificate(options: RequestOptions): Promise<'kept' | 'signed'> {
  const { dir } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const paths = { cert: join(dir, 'node.crt'), key: join(dir, 'node.key'), ca: join(dir, 'ca.crt') };
  const { cert, ca } = paths;
  const hasAll = Object.values(paths).every((path) => existsSync(path));
  if (hasAll && !isDue(readFileSync(cert, 'utf8'), { cert: readFileSync(ca, 'utf8') })) return 'kept';
  const { connectKubernetes } = await import('@skerry/platform/kubernetes');
  const { client, config } = await connectKubernetes(options.kubeconfig).catch((error: unknown): never => {
    throw error instanceof MembershipError ? new UserError(error.message, { cause: error }) : error;
  });
  const api = config.makeApiClient(client.CertificatesV1Api);
  const { request, key } = await makeRequest();
  const [leaf = '', ...authorities] = splitPem(await ask(api, { ...options, request }));
  // The certificate last: with it the pair counts as complete.
  write(paths.key, key);
  write(paths.ca, authorities.join('\n'));
  write(paths.cert, leaf);
  return 'signed';
}

const ask = async (
  api: CertificatesV1Api,
  { signer, request, timeoutMs }: RequestOptions & { request: string },
): Promise<string> => {
  const deadline = performance.now() + timeoutMs;
  const { metadata } = await api.createCertificateSigningRequest({
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'skerry-node-' },
      spec: {
        signerName: signer,
        request: Buffer.from(request).toString('base64'),
        usages: ['digital signature', 'server auth'],
      },
    },
  });
  const name = metadata?.name ?? '';
  for (;;) {
    const { status } = await api.readCertificateSigningRequest({ name });
    if (status?.certificate !== undefined) return Buffer.from(status.certificate, 'base64').toString();
    const denied = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
    if (denied) throw new UserError(`the request ${name} for a certificate was refused: ${denied.message}`);
    if (performance.now() > deadline)
      throw new UserError(
        `the request ${name} for a certificate was not answered in ${Math.round(timeoutMs / 1000)} s: does "skerry node authority" run?`,
      );
    await sleep(INTERVAL_MS);
  }
};

const splitPem = (pem: string): string[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []).map((one) => `${one}\n`);

const write = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
};
