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
 * failure is logged and tried again after a pause that grows. Rejects when the first one cannot be obtained, and while the pause after an
 * earlier failure lasts: a process that ends and starts again keeps to it.
 */
export async function keepCertificate({
  folder,
  obtain,
  log,
  signal,
  now = Date.now,
}: KeepOptions): Promise<void> {
  const order = (): Promise<Validity> => renew({ folder, obtain, now });
  let validity = folder.readValidity();
  let dueAt: number;
  if (validity === undefined) {
    requireTurn(folder, now());
    log.info('the certificate is obtained from the authority: this takes a minute');
    validity = await order();
    dueAt = toNext(validity, now());
  } else dueAt = Math.max(toDue(validity), folder.readAttempts()?.nextAt ?? 0);

  const tryAgain = async (): Promise<void> => {
    try {
      validity = await order();
      dueAt = toNext(validity, now());
      log.info('the certificate was renewed', { expiresAt: new Date(validity.until).toISOString() });
    } catch (error) {
      if (signal.aborted) return;
      // On a full disk no pause can be noted.
      dueAt = Math.max(folder.readAttempts()?.nextAt ?? 0, now() + FIRST_PAUSE_MS);
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

/** Throws while the pause after an earlier failure lasts. */
function requireTurn({ readAttempts, attemptsFile }: CertificateFolder, now: number): void {
  const { count, nextAt } = readAttempts() ?? { count: 0, nextAt: 0 };
  if (nextAt <= now) return;
  throw new AcmeError(
    `the authority gave no certificate at ${count === 1 ? 'the last attempt' : `the last ${count} attempts`}, and is not asked again before ${new Date(nextAt).toISOString()}`,
    { hint: `when you have resolved the cause, remove ${attemptsFile} to ask at once` },
  );
}

/** Asks once. The pause is noted first: a process that is killed meanwhile has asked as well. */
async function renew({
  folder,
  obtain,
  now,
}: Pick<KeepOptions, 'folder' | 'obtain'> & { now: () => number }): Promise<Validity> {
  const failures = folder.readAttempts()?.count ?? 0;
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  const note = (askedMs = 0): void =>
    folder.writeAttempts({ count: failures + 1, nextAt: now() + Math.max(askedMs, pauseMs) });
  note();
  try {
    folder.write(await obtain());
  } catch (error) {
    note(error instanceof AcmeError ? error.retryAfterMs : undefined);
    throw error;
  }
  const validity = folder.readValidity();
  if (validity === undefined) throw new AcmeError(`${folder.file} has gone`);
  return validity;
}

const toDue = ({ from, until }: Validity): number => from + (until - from) * (2 / 3);

/** A certificate that arrives late in its life is not replaced at once, which would go on for ever. */
const toNext = (validity: Validity, now: number): number =>
  Math.max(toDue(validity), now + Math.min(FIRST_PAUSE_MS, (validity.until - validity.from) / 3));
