import type { Log } from '@skerry/platform';
import { UserError } from '../user-error.ts';
import type { AcmeOptions } from './acme-options.ts';
import { openCertificateFolder } from './certificate-folder.ts';
import { createDnsHook } from './dns-hook.ts';
import { createDnsUpdates } from './dns-update/dns-updates.ts';
import { readTsigKey } from './dns-update/tsig-key.ts';
import { keepCertificate } from './keep-certificate.ts';
import { orderCertificate } from './order-certificate.ts';
import { openSignedRequests } from './signed-requests.ts';

/** A certificate of an authority, which is replaced before it expires until this is disposed of. */
export interface AcmeCertificate extends Disposable {
  /** Key and certificates, as PEM. */
  readonly file: string;
}

/** Resolves when there is a certificate for the domain and the names one level below. Rejects with `UserError` when none can be obtained. */
export async function openAcme(
  options: AcmeOptions,
  { dir, domain, log }: { dir: string; domain: string; log: Log },
): Promise<AcmeCertificate> {
  const { directoryUrl, email, challenge, waitMs } = options;
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain))
    throw new UserError(`--acme needs a --domain that others can look up, and not ${domain}`);
  const records =
    'hook' in challenge
      ? createDnsHook(challenge.hook)
      : createDnsUpdates({ ...challenge.server, key: readTsigKey(challenge.keyFile) });
  const folder = openCertificateFolder(dir, domain);
  const stop = new AbortController();
  const { signal } = stop;
  const obtain = async (): Promise<string> => {
    const requests = await openSignedRequests({ directoryUrl, accountKey: folder.readAccountKey(), signal });
    await requests.register(email === undefined ? [] : [`mailto:${email}`]);
    return orderCertificate(domain, { requests, records, waitMs, log, signal });
  };
  await keepCertificate({ folder, obtain, log, signal });
  return {
    file: folder.file,
    [Symbol.dispose]: () => stop.abort(),
  };
}
