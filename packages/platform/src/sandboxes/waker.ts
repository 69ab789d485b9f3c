import { abortable } from '@skerry/contract/abortable';
import type { Dormant } from '@skerry/contract/directory';
import { ApiError, isUnavailable, toApiError } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import type { ConnectAt } from '../http/connect-at.ts';
import type { Log } from '../log.ts';
import type { NewWork } from '../new-work.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { toAccessToken, toPortAccess } from '../tokens.ts';
import type { Resumer } from './resumer.ts';
import { isWakeable } from './visible-state.ts';

/** Resumes paused sandboxes for the requests to their ports. */
export interface Waker {
  /** Finds like `findDormant` of a directory, and also a sandbox that runs by now. */
  find(id: string): Promise<Dormant | undefined>;
  /** Resumes like `wake` of a `Dormant`, also for another server that has sent the call here. */
  wake(id: string, options?: { isForwarded?: boolean }): Promise<void>;
  /** Why the last attempt failed, until one succeeds or the failure is long ago. Text for a person. */
  problemOf(sandbox: Pick<SandboxRow, 'id' | 'startedAt'>): string | undefined;
}

export interface WakerOptions {
  store: Pick<Store, 'findSandbox'>;
  newWork: Pick<NewWork, 'require'>;
  resumer: Pick<Resumer, 'connect'>;
  /** Resumes a sandbox at another server. Absent: there is none. */
  connectAt?: ConnectAt | undefined;
  secret: string;
  clock: Pick<Clock, 'elapsed'>;
  log: Log;
}

/** What one or more attempts in a row have met. */
interface Failure {
  count: number;
  /** How many of them make the pause longer. */
  grown: number;
  error: ApiError;
  /** The start of the last run before; undefined when it could not be read. A later run ends all this. */
  startedAt: number | undefined;
  /** No attempt begins before. */
  nextAt: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** After such a time without an attempt, a failure is forgotten. */
const KEPT_MS = 600_000;

export const createWaker = (options: WakerOptions): Waker => {
  const { store, newWork, resumer, connectAt, secret, clock, log } = options;
  /** The attempts of this server, which may ask another one. */
  const attempts = new Map<string, Promise<void>>();
  /** The attempts for other servers, which ask no further one: servers that ask each other would wait for ever. */
  const attemptsHere = new Map<string, Promise<void>>();
  const failures = new Map<string, Failure>();

  const resumeHere = async (id: string, isForwarded: boolean): Promise<void> => {
    await resumer.connect(id, { timeoutMs: 0, timeToLive: 'wake', memory: true, isForwarded });
  };

  const resume = async (id: string, isForwarded: boolean): Promise<void> => {
    try {
      await resumeHere(id, isForwarded);
    } catch (error) {
      if (!(error instanceof ElsewhereError) || connectAt === undefined) throw error;
      await connectAt(error.address, { id }).catch(async (refused: unknown) => {
        if (!isUnavailable(refused)) throw refused;
        // The owner of a node that is gone may have no other one, while this server has.
        await resumeHere(id, true).catch(() => Promise.reject(refused));
      });
    }
  };

  /** The failure of a sandbox, unless it has run since, as after a call of the API. */
  const failureOf = ({ id, startedAt }: Pick<SandboxRow, 'id' | 'startedAt'>): Failure | undefined => {
    const failure = failures.get(id);
    if (failure?.startedAt !== undefined && failure.startedAt !== startedAt) failures.delete(id);
    return failures.get(id);
  };

  /** The database may be what has failed. */
  const findStart = (id: string): Promise<number | undefined> =>
    store.findSandbox(id).then(
      (row) => row?.startedAt,
      () => undefined,
    );

  const note = async (id: string, error: ApiError): Promise<void> => {
    const startedAt = await findStart(id);
    const now = clock.elapsed();
    for (const [one, { nextAt }] of failures) if (now > nextAt + KEPT_MS) failures.delete(one);
    // What is over by itself, or cost nothing but a look, is no reason to wait longer each time.
    if (error.code === 'conflict' || error.code === 'not_found') return;
    const known = failures.get(id) ?? { count: 0, grown: 0 };
    const count = known.count + 1;
    // A limit that was reached says nothing of the sandbox.
    const grows = error.code !== 'resource_exhausted';
    const grown = known.grown + (grows ? 1 : 0);
    const pauseMs = grows ? Math.min(FIRST_PAUSE_MS * 2 ** (grown - 1), LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    failures.set(id, { count, grown, error, startedAt, nextAt: now + pauseMs });
    log.warn('traffic could not resume a sandbox', { sandboxId: id, attempts: count, pauseMs, error });
  };

  const attempt = async (id: string, isForwarded: boolean): Promise<void> => {
    try {
      await resume(id, isForwarded);
      failures.delete(id);
    } catch (thrown) {
      const error = toApiError(thrown);
      if (!isForwarded || !isUnavailable(error)) await note(id, error);
      throw withPause(error, failures.get(id), clock.elapsed());
    } finally {
      (isForwarded ? attemptsHere : attempts).delete(id);
    }
  };

  const wake: Waker['wake'] = async (id, { isForwarded = false } = {}) => {
    newWork.require({ isForwarded });
    const sent = attemptsHere.get(id);
    if (sent !== undefined) return isForwarded ? sent : sent.catch((error: unknown) => goOn(id, error));
    const current = isForwarded ? undefined : attempts.get(id);
    if (current !== undefined) return current;
    const failure = failures.get(id);
    const now = clock.elapsed();
    if (failure !== undefined && now < failure.nextAt) throw withPause(failure.error, failure, now);
    const begun = attempt(id, isForwarded);
    (isForwarded ? attemptsHere : attempts).set(id, begun);
    return begun;
  };

  /** Another server goes on elsewhere with what found no place here, and so does this one for its own callers. */
  const goOn = (id: string, error: unknown): Promise<void> =>
    isUnavailable(error) ? wake(id) : Promise.reject(error);

  return {
    find: async (id) => {
      const row = await store.findSandbox(id);
      if (row === undefined || row.wakeMs === null) return undefined;
      if (row.state !== 'running' && !isWakeable(row)) return undefined;
      failureOf(row);
      return {
        ...(row.secure && { accessToken: toAccessToken(secret, id) }),
        ports: toPortAccess(secret, row),
        wake: (signal) => abortable(wake(id), signal),
      };
    },
    wake,
    problemOf: (sandbox) => {
      const failure = failureOf(sandbox);
      if (failure === undefined || clock.elapsed() > failure.nextAt + KEPT_MS) return undefined;
      const { count, error } = failure;
      return `traffic could not resume it (${count} ${count === 1 ? 'attempt' : 'attempts'}): ${error.message}`;
    },
  };
};

/** The error with the time until the next attempt, if one has to pass. */
const withPause = (error: ApiError, failure: Failure | undefined, now: number): ApiError => {
  const seconds = failure === undefined ? 0 : Math.ceil((failure.nextAt - now) / 1_000);
  if (seconds <= 0) return error;
  return new ApiError(
    error.code,
    `${error.message}; the next attempt begins in ${seconds} s at the earliest`,
    {
      cause: error,
      ...(error.reason !== undefined && { reason: error.reason }),
      headers: { 'Retry-After': String(seconds) },
    },
  );
};
