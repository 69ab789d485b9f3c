import { X509Certificate } from 'node:crypto';
import type { CoreV1Api } from '@kubernetes/client-node';
import { makeApiKey, makeSecret } from '@skerry/platform';
import { type CertificateWithKey, makeAuthority, makeCertificate } from '@skerry/runtime/node-certificates';

/** Names of the Secrets of an installation. */
export interface SecretNames {
  /** The Secret of the authority: `tls.crt` and `tls.key`. */
  authority: string;
  /** The Secret of the servers: `tls.crt`, `tls.key`, and `ca.crt` of the authority. */
  platform: string;
  /** What all servers share: `secret`, from which tokens of sandboxes follow, and `api-key`. */
  server: string;
}

/** The Secrets of one namespace. */
export interface InstallationSecrets {
  /** Undefined as long as another program has not made it. */
  readAuthority(): Promise<CertificateWithKey | undefined>;
  /** Makes what is missing, and renews the certificate of the platform when a third of its time is left. */
  ensure(): Promise<void>;
}

export const createInstallationSecrets = (
  core: Pick<CoreV1Api, 'readNamespacedSecret' | 'createNamespacedSecret' | 'replaceNamespacedSecret'>,
  {
    namespace,
    names,
    days,
    usesOthers,
  }: {
    namespace: string;
    names: SecretNames;
    days: number;
    /** Whether another program makes those of authority and platform. */
    usesOthers: boolean;
  },
): InstallationSecrets => {
  const read = async (name: string): Promise<Record<string, string> | undefined> => {
    try {
      const { data = {} } = await core.readNamespacedSecret({ name, namespace });
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      );
    } catch (error) {
      if ((error as { code?: unknown }).code === 404) return undefined;
      throw error;
    }
  };
  const toBody = (name: string, type: string, stringData: Record<string, string>) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', type, stringData },
    metadata: { name, namespace, labels: { 'app.kubernetes.io/name': 'skerry' } },
  });

  const readAuthority = async (): Promise<CertificateWithKey | undefined> => {
    const found = await read(names.authority);
    const { 'tls.crt': cert, 'tls.key': key } = found ?? {};
    return cert === undefined || key === undefined ? undefined : { cert, key };
  };

  const ensureAuthority = async (): Promise<CertificateWithKey> => {
    const found = await readAuthority();
    if (found !== undefined) return found;
    const { cert, key } = await makeAuthority();
    const data = { 'tls.crt': cert, 'tls.key': key };
    await core.createNamespacedSecret({
      namespace,
      body: toBody(names.authority, 'kubernetes.io/tls', data),
    });
    return { cert, key };
  };

  const ensurePlatform = async (authority: CertificateWithKey): Promise<void> => {
    const found = await read(names.platform);
    if (found !== undefined && !isDue(found['tls.crt'] ?? '', authority)) return;
    const { cert, key } = await makeCertificate({ role: 'platform' }, { authority, days });
    const body = toBody(names.platform, 'kubernetes.io/tls', {
      'tls.crt': cert,
      'tls.key': key,
      'ca.crt': authority.cert,
    });
    if (found === undefined) await core.createNamespacedSecret({ namespace, body });
    else await core.replaceNamespacedSecret({ name: names.platform, namespace, body });
  };

  const ensureServer = async (): Promise<void> => {
    if ((await read(names.server)) !== undefined) return;
    const body = toBody(names.server, 'Opaque', {
      secret: makeSecret(),
      'api-key': makeApiKey(),
    });
    await core.createNamespacedSecret({ namespace, body });
  };

  return {
    readAuthority,
    ensure: async () => {
      if (!usesOthers) await ensurePlatform(await ensureAuthority());
      await ensureServer();
    },
  };
};

/** Whether a certificate is of another authority, or has less than a third of its time left. */
export const isDue = (cert: string, authority: { cert: string }, now = Date.now()): boolean => {
  try {
    const parsed = new X509Certificate(cert);
    const issuer = new X509Certificate(authority.cert);
    if (!parsed.checkIssued(issuer) || !parsed.verify(issuer.publicKey)) return true;
    const [from, to] = [+parsed.validFromDate, +parsed.validToDate];
    return to - now < (to - from) / 3;
  } catch {
    return true;
  }
};
