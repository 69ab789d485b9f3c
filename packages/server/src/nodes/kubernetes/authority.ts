import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CertificatesV1Api,
  V1CertificateSigningRequest,
  V1CertificateSigningRequestCondition,
} from '@kubernetes/client-node';
import { type Log, MembershipError } from '@skerry/platform';
import { isRequest, signRequest } from '@skerry/runtime/node-certificates';
import { UserError } from '../../user-error.ts';
import { createInstallationSecrets, type SecretNames } from './installation-secrets.ts';
import { createPodReader, judgeRequest, type NodePods, type Verdict } from './signer.ts';

export interface AuthorityOptions {
  pods: NodePods;
  /** The requests of that signer are answered, and no others. */
  signer: string;
  kubeconfig: string | undefined;
  names: SecretNames;
  /** Whether another program makes the Secrets of authority and platform, such as cert-manager. */
  usesOthers: boolean;
  /** How long certificates are valid. */
  days: number;
  log: Log;
}

const INTERVAL_MS = 1_000;
/** How often the certificate of the platform is looked at. */
const SECRETS_INTERVAL_MS = 3_600_000;

/**
 * Signs the requests of nodes with the authority in a Secret of Kubernetes, and makes the Secrets of the installation, until `close`.
 * Resolves when it has the authority. Rejects with `UserError` when Kubernetes cannot be used.
 */
export async function startAuthority(options: AuthorityOptions): Promise<{ close(): Promise<void> }> {
  const { pods, names, days, log } = options;
  const { namespace } = pods;
  const { connectKubernetes } = await import('@skerry/platform/kubernetes');
  const { client, config } = await connectKubernetes(options.kubeconfig).catch((error: unknown): never => {
    throw error instanceof MembershipError ? new UserError(error.message, { cause: error }) : error;
  });
  const core = config.makeApiClient(client.CoreV1Api);
  const certificates = config.makeApiClient(client.CertificatesV1Api);
  const secrets = createInstallationSecrets(core, { namespace, names, days, usesOthers: options.usesOthers });
  const readPod = createPodReader(core, namespace);

  const answer = async (request: V1CertificateSigningRequest): Promise<void> => {
    const pem = Buffer.from(request.spec.request, 'base64').toString();
    const verdict: Verdict = (await isRequest(pem))
      ? await judgeRequest(request, pods, readPod)
      : { refusal: 'it is no request that its sender has signed' };
    const name = request.metadata?.name ?? '';
    if ('refusal' in verdict) {
      await decide(certificates, request, verdict);
      log.warn('a request for a certificate was refused', { request: name, why: verdict.refusal });
      return;
    }
    const authority = await secrets.readAuthority();
    // Another program has not made it yet.
    if (authority === undefined) return;
    const cert = await signRequest({ role: 'node', name: verdict.node }, { request: pem, authority, days });
    const body = await decide(certificates, request, verdict);
    // The node has to know the authority as well.
    const certificate = Buffer.from(cert + authority.cert).toString('base64');
    body.status = Object.assign(body.status ?? {}, { certificate });
    await certificates.replaceCertificateSigningRequestStatus({ name, body });
    log.info('the certificate of a node was signed', { node: verdict.node });
  };

  const round = async (): Promise<void> => {
    const fieldSelector = `spec.signerName=${options.signer}`;
    const { items } = await certificates.listCertificateSigningRequest({ fieldSelector });
    for (const request of items)
      if (isOpen(request))
        await answer(request).catch((error: unknown) =>
          log.warn('a request for a certificate could not be answered; this will be retried', { error }),
        );
  };

  await secrets.ensure();
  const closing = new AbortController();
  const { signal } = closing;
  const repeat = async (work: () => Promise<void>, everyMs: number): Promise<void> => {
    while (!signal.aborted) {
      // The signal ends the wait, which rejects then.
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await work().catch((error: unknown) => log.warn('Kubernetes could not be asked', { error }));
    }
  };
  const running = Promise.all([
    repeat(round, INTERVAL_MS),
    repeat(() => secrets.ensure(), SECRETS_INTERVAL_MS),
  ]);
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

const isOpen = ({ status }: V1CertificateSigningRequest): boolean =>
  status?.certificate === undefined &&
  !status?.conditions?.some(({ type }) => type === 'Denied' || type === 'Failed');

/** Approves or denies a request, unless that was done before. */
const decide = async (
  certificates: CertificatesV1Api,
  request: V1CertificateSigningRequest,
  verdict: Verdict,
): Promise<V1CertificateSigningRequest> => {
  const conditions = request.status?.conditions ?? [];
  const type = 'node' in verdict ? 'Approved' : 'Denied';
  if (conditions.some((one) => one.type === type)) return request;
  const condition: V1CertificateSigningRequestCondition = {
    ...{ type, status: 'True', reason: 'SkerryNode' },
    message: 'node' in verdict ? `for node ${verdict.node}` : verdict.refusal,
  };
  request.status = Object.assign(request.status ?? {}, { conditions: [...conditions, condition] });
  const name = request.metadata?.name ?? '';
  return certificates.replaceCertificateSigningRequestApproval({ name, body: request });
};
