import { ApiError, conflict } from '@skerry/contract/error';
import { createTurns } from '@skerry/contract/turns';
import { isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Copies } from '../hosts/copies.ts';
import type { Hosts } from '../hosts/hosts.ts';
import { builderLease } from '../hosts/ownership.ts';
import type { Ids } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { Transitions } from '../sandboxes/transitions.ts';
import type { BlobCopyRow, CopyResult, CopySubject, MissingCopy } from '../store/blob-copies/copy-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { createCopyCollector } from './copy-collector.ts';
import { createRetries } from './retries.ts';

/**
 * Keeps a copy of every paused sandbox and snapshot of the nodes for which this server acts in the blob store, behind the calls that make
 * them, and of the images of templates when this server builds them.
 */
export interface Copier {
  /** Looks soon for what has to be stored or removed. Call after a change. */
  soon(): void;
  /** Stores a paused sandbox now, or waits for that. Resolves with whether the blob store has it. Never rejects. */
  store(sandboxId: string): Promise<boolean>;
  /** Stores a ready snapshot that is to be kept in the blob store; otherwise as `store` does. */
  storeSnapshot(id: string): Promise<boolean>;
  /** The complete copy of the present pause of a sandbox. */
  find(row: Pick<SandboxRow, 'id' | 'pausedAt'>): Promise<BlobCopyRow | undefined>;
  /** Why a sandbox, a snapshot or an image could not be stored at the last attempt. */
  problemOf(id: string): string | undefined;
  /** Whether something of a node is being stored. */
  isBusyOn(node: string): boolean;
  /** Ends what is in progress for a node that another server has taken over. */
  leave(node: string): void;
  /** Ends what is in progress, which the next process begins again. */
  close(): Promise<void>;
}

export interface CopierOptions {
  store: Store;
  copies: Copies;
  snapshotter: Pick<Snapshotter, 'copyPaused'>;
  transitions: Pick<Transitions, 'current'>;
  /** The builder alone stores images and removes unused copies, where several servers share the database. */
  hosts: Pick<Hosts, 'canReach' | 'isBuilder'>;
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
  readonly subject: MissingCopy;
  readonly abort: AbortController;
  readonly over: Promise<void>;
}

/** Does nothing before the first `soon`. What an earlier process left is taken up then: its incomplete copies are removed. */
export const createCopier = (options: CopierOptions): Copier => {
  const { store, hosts, copies, snapshotter, transitions, rootfsOf, clock, ids, log } = options;
  const turns = createTurns(COPIES_AT_A_TIME);
  const works = new Map<string, Work>();
  const problems = new Map<string, string>();
  const retries = createRetries(clock, () => soon());
  const closing = new AbortController();
  const copyCollector = createCopyCollector({ ...options, retries, signal: closing.signal });
  let isWanted = false;
  let round: Promise<void> | undefined;

  const copy = async (id: string, subject: MissingCopy, signal: AbortSignal): Promise<CopyResult> => {
    switch (subject.kind) {
      case 'image':
        return copies.storeImage({ id, digest: subject.id }, { signal });
      case 'snapshot': {
        const row = await store.findSnapshotRow(subject.id);
        const rootfs = await rootfsOf({ buildId: row?.buildId ?? null });
        return copies.store(subject.node, { id, snapshot: subject.id, rootfs }, { signal });
      }
      case 'sandbox':
        return snapshotter.copyPaused(
          { sandboxId: subject.id, pausedAt: subject.pausedAt },
          async (snapshot, row) =>
            copies.store(subject.node, { id, snapshot, rootfs: await rootfsOf(row) }, { signal }),
        );
    }
  };

  const work = async (id: string, subject: MissingCopy, signal: AbortSignal): Promise<void> => {
    const begunAt = clock.elapsed();
    const what = describe(subject);
    const names = toNames(subject);
    let isBegun = false;
    try {
      const lease = toLease(subject);
      await store.beginBlobCopy({ id, of: toCopySubject(subject), lease, createdAt: clock.now() });
      isBegun = true;
      const result = await copy(id, subject, signal);
      if (!(await store.finishBlobCopy(id, result))) throw conflict('the copy is being removed');
      problems.delete(subject.id);
      const { sizeBytes } = result;
      const tookMs = Math.round(clock.elapsed() - begunAt);
      log.info(`${what} is in the blob store`, { ...names, sizeBytes, tookMs });
    } catch (error) {
      // Another server may have forgotten the copy before this one wrote the last of it.
      if (isBegun) copyCollector.suspect(id);
      if (signal.aborted) return;
      retries.failed(toKey(subject));
      // Another operation came first.
      if (error instanceof ApiError && error.code === 'conflict') return;
      const cause = error instanceof Error && isRuntimeError(error.cause) ? error.cause : error;
      problems.set(subject.id, cause instanceof Error ? cause.message : String(cause));
      log.warn(`${what} is not in the blob store, and on its node only; this will be retried`, {
        ...names,
        error,
      });
    }
  };

  const begin = (subject: MissingCopy): Work => {
    const known = works.get(subject.id);
    if (known) return known;
    const id = ids.snapshotId();
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
    if (subject.kind === 'image') return !hosts.isBuilder;
    if (subject.kind === 'snapshot') return (await store.findSnapshotRow(subject.id))?.state !== 'ready';
    const row = await store.findSandbox(subject.id);
    return row?.state !== 'paused' || row.pausedAt !== subject.pausedAt;
  };

  const mayBegin = (subject: MissingCopy): boolean =>
    (subject.kind === 'image' ? hosts.isBuilder && copies.hasNodes() : hosts.canReach(subject.node)) &&
    retries.isDue(toKey(subject)) &&
    (subject.kind !== 'sandbox' || transitions.current(subject.id) === undefined);

  const runRound = async (): Promise<void> => {
    while (isWanted && !closing.signal.aborted) {
      isWanted = false;
      for (const one of works.values()) if (await isUseless(one)) one.abort.abort();
      const useless = await store.retireBlobCopies((id) => [...works.values()].some((one) => one.id === id));
      await copyCollector.collect(useless);
      const idle = [...problems.keys()].filter((id) => !works.has(id));
      const missing = await store.listMissingCopies();
      if (closing.signal.aborted) return;
      for (const subject of missing) if (mayBegin(subject)) begin(subject);
      const subjects = [...missing, ...[...works.values()].map(({ subject }) => subject)];
      retries.keep(new Set([...useless, ...subjects.map(toKey)]));
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

  const find: Copier['find'] = ({ id, pausedAt }) => store.findBlobCopy({ sandboxId: id, pausedAt });

  return {
    soon,
    find,
    problemOf: (id) => problems.get(id),
    isBusyOn: (node) => [...works.values()].some(({ subject }) => toNode(subject) === node),
    leave: (node) => {
      for (const { subject, abort } of works.values()) if (toNode(subject) === node) abort.abort();
    },
    store: async (id) => {
      await works.get(id)?.over;
      const row = await store.findSandbox(id);
      if (closing.signal.aborted || row?.state !== 'paused') return false;
      if ((await find(row)) === undefined) {
        const { node, pausedAt } = row;
        if (node === null || !hosts.canReach(node)) return false;
        await transitions.current(id)?.over;
        if (closing.signal.aborted) return false;
        await begin({ kind: 'sandbox', id, node, pausedAt }).over;
      }
      return (await find(row)) !== undefined;
    },
    storeSnapshot: async (id) => {
      await works.get(id)?.over;
      const hasBlobCopy = async () => (await store.findBlobCopy({ snapshotId: id })) !== undefined;
      if (await hasBlobCopy()) return true;
      const subject = (await store.listMissingCopies()).find(
        (one) => one.kind === 'snapshot' && one.id === id,
      );
      if (closing.signal.aborted || subject === undefined || !hosts.canReach(toNode(subject))) return false;
      await begin(subject).over;
      return hasBlobCopy();
    },
    close: async () => {
      closing.abort();
      retries.close();
      for (const { abort } of works.values()) abort.abort();
      await Promise.all([...[...works.values()].map(({ over }) => over), round]);
    },
  };
};

const toNode = (subject: MissingCopy): string | null => (subject.kind === 'image' ? null : subject.node);

/** What this server owns while it makes a copy. */
const toLease = (subject: MissingCopy): string => toNode(subject) ?? builderLease;

const describe = ({ kind }: MissingCopy): string =>
  ({ sandbox: 'a paused sandbox', snapshot: 'a snapshot', image: 'the image of a template' })[kind];

const toNames = (subject: MissingCopy): Record<string, string> => {
  if (subject.kind === 'image') return { digest: subject.id };
  const { id, node } = subject;
  return subject.kind === 'sandbox' ? { sandboxId: id, node } : { snapshotId: id, node };
};

const toCopySubject = (subject: MissingCopy): CopySubject => {
  if (subject.kind === 'image') return { image: subject.id };
  if (subject.kind === 'snapshot') return { snapshotId: subject.id };
  return { sandboxId: subject.id, pausedAt: subject.pausedAt };
};

/** Names what is copied, of a sandbox one pause: a copy of the next pause is no retry. */
const toKey = (subject: MissingCopy): string =>
  subject.kind === 'sandbox' ? `${subject.id} ${subject.pausedAt}` : subject.id;
