import type { Log } from '@skerry/platform';
import { AcmeError } from './acme-error.ts';
import type { CertificateFolder, Validity } from './certificate-folder.ts';

/** Authorities allow few failures an hour. */
const FIRST_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 12 * 3_600_000;
/** A timer does not know that the clock was set, or that the machine slept. */
const LONGEST_TIMER_MS = 3_600_000;

export interface KeepOptions {
  folder: CertificateFolder;
  /** Resolves with key and chain as PEM. */
  obtain: () => Promise<string>;
  log: Log;
  signal: AbortSignal;
  now?: () => number;
}

/**
 * Obtains a certificate when the folder has none, and again when two thirds of its life are over. Resolves when there is one; from then on a
 * failure is logged and tried again after a pause that grows. Rejects when the first one cannot be obtained.
 */
export async function keepCertificate({
  folder,
  obtain,
  log,
  signal,
  now = Date.now,
}: KeepOptions): Promise<void> {
  let failures = 0;
  let validity = folder.readValidity();
  if (validity === undefined) {
    log.info('the certificate is obtained from the authority: this takes a minute');
    validity = await renew({ folder, obtain });
  }
  let dueAt = toDue(validity);

  const tryAgain = async (): Promise<void> => {
    try {
      validity = await renew({ folder, obtain });
      failures = 0;
      dueAt = toDue(validity);
      log.info('the certificate was renewed', { expiresAt: new Date(validity.until).toISOString() });
    } catch (error) {
      if (signal.aborted) return;
      const asked = error instanceof AcmeError ? (error.retryAfterMs ?? 0) : 0;
      const pauseMs = Math.max(asked, Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS));
      failures += 1;
      dueAt = now() + pauseMs;
      const expiresAt = new Date(validity?.until ?? 0).toISOString();
      log.warn('the certificate cannot be renewed', {
        error,
        expiresAt,
        nextAt: new Date(dueAt).toISOString(),
      });
    }
  };
  const schedule = (): void => {
    if (signal.aborted) return;
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', stop);
        if (now() < dueAt) schedule();
        else void tryAgain().then(schedule);
      },
      Math.max(0, Math.min(dueAt - now(), LONGEST_TIMER_MS)),
    ).unref();
    const stop = (): void => clearTimeout(timer);
    signal.addEventListener('abort', stop, { once: true });
  };
  schedule();
}

async function renew({ folder, obtain }: Pick<KeepOptions, 'folder' | 'obtain'>): Promise<Validity> {
  folder.write(await obtain());
  const validity = folder.readValidity();
  if (validity === undefined) throw new AcmeError(`${folder.file} has gone`);
  return validity;
}

const toDue = ({ from, until }: Validity): number => from + (until - from) * (2 / 3);
