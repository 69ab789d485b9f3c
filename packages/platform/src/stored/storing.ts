import { ApiError, conflict } from '@skerry/contract/error';
import { isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Copies } from '../nodes/copies.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { Transitions } from '../sandboxes/transitions.ts';
import type { SandboxRow, Store } from '../store/store.ts';
import type { StoredResult, StoredRow, Unstored } from '../store/stored/stored-store.ts';
import { createTurns } from '../turns.ts';
import { createRetries } from './retries.ts';

/** Keeps a copy of every paused sandbox and snapshot of the nodes in the blob store, behind the calls that make them. */
export interface Storing {
  /** Looks soon for what has to be stored or removed. Call after a change. */
  soon(): void;
  /** Stores a paused sandbox now, or waits for that. Resolves with whether the blob store has it. Never rejects. */
  store(sandboxId: string): Promise<boolean>;
  /** The complete copy of the present pause of a sandbox. */
  find(row: Pick<SandboxRow, 'id' | 'pausedAt'>): Promise<StoredRow | undefined>;
  /** Why a sandbox or snapshot could not be stored at the last attempt. */
  problemOf(id: string): string | undefined;
  /** Ends what is in progress, which the next process begins again. */
  close(): Promise<void>;
}

export interface StoringOptions {
  store: Store;
  copies: Copies;
  snapshotting: Pick<Snapshotting, 'copyPaused'>;
  transitions: Pick<Transitions, 'current'>;
  canReach: (node: string | null) => boolean;
  /** The image below the files of a sandbox or a snapshot. */
  rootfsOf: (row: { buildId: string | null }) => Promise<string>;
  clock: Clock;
  ids: Ids;
  log: Log;
}

const COPIES_AT_A_TIME = 2;

interface Work {
  /** The id of the copy. */
  readonly id: string;
  readonly subject: Unstored;
  readonly abort: AbortController;
  readonly over: Promise<void>;
}

/** Does nothing before the first `soon`. What an earlier process left is taken up then: its incomplete copies are removed. */
export const createStoring = (options: StoringOptions): Storing => {
  const { store, copies, snapshotting, transitions, canReach, rootfsOf, clock, ids, log } = options;
  const turns = createTurns(COPIES_AT_A_TIME);
  const works = new Map<string, Work>();
  const problems = new Map<string, string>();
  const retries = createRetries(clock, () => soon());
  const closing = new AbortController();
  let isWanted = false;
  let round: Promise<void> | undefined;

  const copy = async (id: string, subject: Unstored, signal: AbortSignal): Promise<StoredResult> => {
    if (subject.kind === 'snapshot') {
      const row = await store.findSnapshotRow(subject.id);
      const rootfs = await rootfsOf({ buildId: row?.buildId ?? null });
      return copies.store(subject.node, { id, rootfs }, { signal });
    }
    return snapshotting.copyPaused({ id, sandboxId: subject.id, pausedAt: subject.pausedAt }, async (row) =>
      copies.store(subject.node, { id, rootfs: await rootfsOf(row) }, { signal }),
    );
  };

  const work = async (id: string, subject: Unstored, signal: AbortSignal): Promise<void> => {
    const begunAt = clock.elapsed();
    const { kind, node, pausedAt } = subject;
    const names = kind === 'sandbox' ? { sandboxId: subject.id } : { snapshotId: subject.id };
    try {
      const sandboxId = kind === 'sandbox' ? subject.id : null;
      await store.beginStored({ id, sandboxId, pausedAt, createdAt: clock.now() });
      const result = await copy(id, subject, signal);
      if (!(await store.finishStored(id, result))) throw conflict('the copy is being removed');
      problems.delete(subject.id);
      const { sizeBytes } = result;
      const tookMs = Math.round(clock.elapsed() - begunAt);
      log.info(`a ${describe(subject)} is in the blob store`, { ...names, node, sizeBytes, tookMs });
    } catch (error) {
      if (signal.aborted) return;
      retries.failed(toKey(subject));
      // Another operation came first.
      if (error instanceof ApiError && error.code === 'conflict') return;
      const cause = error instanceof Error && isRuntimeError(error.cause) ? error.cause : error;
      problems.set(subject.id, cause instanceof Error ? cause.message : String(cause));
      const what = `a ${describe(subject)} is not in the blob store, and on its node only; this will be retried`;
      log.warn(what, { ...names, node, error });
    }
  };

  const begin = (subject: Unstored): Work => {
    const known = works.get(subject.id);
    if (known) return known;
    const id = subject.kind === 'snapshot' ? subject.id : ids.snapshotId();
    const abort = new AbortController();
    const { signal } = abort;
    const over = turns
      .take(() => work(id, subject, signal), signal)
      // `work` reports its own failures: this is the abort of one that waits for its turn.
      .catch(() => undefined)
      .finally(() => {
        works.delete(subject.id);
        soon();
      });
    const begun = { id, subject, abort, over };
    works.set(subject.id, begun);
    return begun;
  };

  const isUseless = async ({ subject }: Work): Promise<boolean> => {
    if (subject.kind === 'snapshot') return (await store.findSnapshotRow(subject.id))?.state !== 'ready';
    const row = await store.findSandbox(subject.id);
    return row?.state !== 'paused' || row.pausedAt !== subject.pausedAt;
  };

  const removeUseless = async (): Promise<string[]> => {
    for (const one of works.values()) if (await isUseless(one)) one.abort.abort();
    const useless = await store.retireStored((id) => [...works.values()].some((one) => one.id === id));
    for (const id of useless.filter((one) => retries.isDue(one))) {
      try {
        await copies.remove(id, { signal: closing.signal });
        await store.forgetStored(id);
      } catch (error) {
        if (closing.signal.aborted) break;
        retries.failed(id);
        const what = 'a copy could not be removed from the blob store; this will be retried';
        log.warn(what, { copyId: id, error });
      }
    }
    return useless;
  };

  const mayBegin = (subject: Unstored): boolean =>
    canReach(subject.node) &&
    retries.isDue(toKey(subject)) &&
    (subject.kind === 'snapshot' || transitions.current(subject.id) === undefined);

  const runRound = async (): Promise<void> => {
    while (isWanted && !closing.signal.aborted) {
      isWanted = false;
      const removing = await removeUseless();
      const idle = [...problems.keys()].filter((id) => !works.has(id));
      const missing = await store.listUnstored();
      if (closing.signal.aborted) return;
      for (const subject of missing) if (mayBegin(subject)) begin(subject);
      const subjects = [...missing, ...[...works.values()].map(({ subject }) => subject)];
      retries.keep(new Set([...removing, ...subjects.map(toKey)]));
      const known = new Set(subjects.map(({ id }) => id));
      for (const id of idle) if (!known.has(id)) problems.delete(id);
    }
  };

  const soon = (): void => {
    isWanted = true;
    if (closing.signal.aborted || round) return;
    round = runRound()
      .catch((error: unknown) => log.error('what the blob store lacks could not be found out', { error }))
      .finally(() => {
        round = undefined;
        if (isWanted && !closing.signal.aborted) soon();
      });
  };

  const find: Storing['find'] = ({ id, pausedAt }) => store.findStored({ sandboxId: id, pausedAt });

  return {
    soon,
    find,
    problemOf: (id) => problems.get(id),
    store: async (id) => {
      await works.get(id)?.over;
      const row = await store.findSandbox(id);
      if (closing.signal.aborted || row?.state !== 'paused') return false;
      if ((await find(row)) === undefined) {
        const { node, pausedAt } = row;
        if (node === null || !canReach(node)) return false;
        await transitions.current(id)?.over;
        if (closing.signal.aborted) return false;
        await begin({ kind: 'sandbox', id, node, pausedAt }).over;
      }
      return (await find(row)) !== undefined;
    },
    close: async () => {
      closing.abort();
      retries.close();
      for (const { abort } of works.values()) abort.abort();
      await Promise.all([...[...works.values()].map(({ over }) => over), round]);
    },
  };
};

const describe = ({ kind }: Unstored): string => (kind === 'sandbox' ? 'paused sandbox' : 'snapshot');

/** Of one pause: the next one is no retry. */
const toKey = ({ id, pausedAt }: Unstored): string => `${id} ${pausedAt}`;
