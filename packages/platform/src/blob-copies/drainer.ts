import { createTurns } from '@skerry/contract/turns';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { findInstance } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { ConnectAt } from '../http/connect-at.ts';
import type { Log } from '../log.ts';
import type { Pauser } from '../sandboxes/pauser.ts';
import type { Resumer } from '../sandboxes/resumer.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { Transitions } from '../sandboxes/transitions.ts';
import { ALIVE_STATES, type SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Copier } from './copier.ts';

/** Moves what is on a cordoned node to others, through the blob store. */
export interface Drainer {
  /**
   * Moves what can be moved, unless that is in progress, or was done a moment ago and found all of these sandboxes, which are on the node now.
   * Returns whether it is in progress.
   */
  advance(node: string, sandboxIds: readonly string[]): boolean;
  /** Why a sandbox or a snapshot could not be moved at the last attempt. */
  problemOf(id: string): string | undefined;
  /** Whether it moves what is on that node. */
  isBusyOn(node: string): boolean;
  /** Resolves when no sandbox is being moved. */
  close(): Promise<void>;
}

export interface DrainerOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'isCordoned'>;
  pauser: Pick<Pauser, 'pause'>;
  resumer: Pick<Resumer, 'connect'>;
  /** Resumes a sandbox at another server. Absent: there is none. */
  connectAt?: ConnectAt | undefined;
  copier: Pick<Copier, 'store' | 'storeSnapshot' | 'problemOf'>;
  snapshotter: Pick<Snapshotter, 'collect'>;
  transitions: Pick<Transitions, 'current' | 'run'>;
  clock: Clock;
  log: Log;
}

const MOVES_AT_A_TIME = 2;
/** A caller that asks whether it is over does not begin it again. */
const REST_MS = 5_000;
/** The least time that a moved sandbox has left, in which its owner can extend it. */
const LEAST_LEFT_MS = 1_000;

export const createDrainer = (options: DrainerOptions): Drainer => {
  const { store, hosts, pauser, resumer, connectAt, copier, snapshotter, transitions, clock, log } = options;
  const turns = createTurns(MOVES_AT_A_TIME);
  const closing = new AbortController();
  const inProgress = new Map<string, Promise<void>>();
  const finishedAt = new Map<string, number>();
  const problems = new Map<string, string>();

  /** Leaves a paused sandbox in the blob store alone. */
  const release = async (row: SandboxRow): Promise<void> => {
    if (!(await copier.store(row.id)))
      throw new Error(copier.problemOf(row.id) ?? 'it is not in the blob store yet');
    if (transitions.current(row.id) !== undefined) throw new Error('it is busy with another operation');
    await transitions.run(row.id, 'recovery', async () => {
      const instance = await findInstance(hosts, row);
      // From here on the instance is that of no sandbox: where it cannot be stopped now, a later round does that.
      if (await store.detachSandbox(row.id)) await instance?.stop();
    });
  };

  /** Resumes a sandbox on any node, of this server or another. */
  const resume = async (id: string, timeoutMs: number): Promise<SandboxRow> => {
    const request = { timeoutMs, timeToLive: 'remaining', memory: true } as const;
    try {
      return (await resumer.connect(id, request)).row;
    } catch (error) {
      if (!(error instanceof ElsewhereError) || connectAt === undefined) throw error;
      const problem = await connectAt(error.address, { id, timeoutMs }).catch((cause: unknown) => cause);
      const row = await store.findSandbox(id);
      if (row?.state === 'running') return row;
      log.warn('another server could not resume a sandbox', { sandboxId: id, error: problem });
      return (await resumer.connect(id, { ...request, isForwarded: true })).row;
    }
  };

  /** Moves a running sandbox with its processes. It runs on, here or there, whatever fails. */
  const moveRunning = async ({ id, endAt, node }: SandboxRow): Promise<void> => {
    await pauser.pause(id, 'memory');
    const hasBlobCopy = await copier.store(id);
    const problem = copier.problemOf(id);
    const timeoutMs = Math.max(endAt - clock.now(), LEAST_LEFT_MS);
    const former = await findInstance(hosts, { id, node });
    const row = await resume(id, timeoutMs);
    if (row.node !== node) {
      // Where that fails now, a later round does it.
      await former?.stop();
      log.info('a sandbox was moved', { sandboxId: id, from: node, to: row.node });
      return;
    }
    throw new Error(
      hasBlobCopy
        ? 'no other node can resume it now; the log of the server has the reason of each'
        : (problem ?? 'it is not in the blob store'),
    );
  };

  const move = async (row: SandboxRow, node: string): Promise<void> => {
    if (!hosts.isCordoned(node) || closing.signal.aborted) return;
    try {
      if (row.state === 'running') await moveRunning(row);
      else if (row.state === 'paused') await release(row);
      else throw new Error('it is busy with another operation');
      problems.delete(row.id);
    } catch (error) {
      problems.set(row.id, (error as Error).message);
      log.warn('a sandbox could not be moved from a node', { sandboxId: row.id, node, error });
    }
  };

  /** Leaves a snapshot in the blob store alone. */
  const moveSnapshot = async (id: string, node: string): Promise<void> => {
    if (!hosts.isCordoned(node) || closing.signal.aborted) return;
    try {
      if (!(await copier.storeSnapshot(id)))
        throw new Error(copier.problemOf(id) ?? 'it is not in the blob store yet');
      await store.detachSnapshot(id);
      problems.delete(id);
    } catch (error) {
      problems.set(id, (error as Error).message);
      log.warn('a snapshot could not be moved from a node', { snapshotId: id, node, error });
    }
  };

  const drain = async (node: string): Promise<void> => {
    const rows = await store.listSandboxes({ states: ALIVE_STATES, order: 'asc', nodes: [node] });
    await Promise.allSettled(rows.map((row) => turns.take(() => move(row, node), closing.signal)));
    const snapshots = await store.listKeptSnapshots(node);
    await Promise.allSettled(snapshots.map((id) => turns.take(() => moveSnapshot(id, node), closing.signal)));
    // Removes what the node still has of them.
    if (snapshots.length > 0) await snapshotter.collect();
  };

  return {
    advance: (node, sandboxIds) => {
      const rested = clock.elapsed() - (finishedAt.get(node) ?? Number.NEGATIVE_INFINITY);
      // One that was moved away may be back.
      const isKnown = sandboxIds.every((id) => problems.has(id));
      if (inProgress.has(node)) return true;
      if ((rested < REST_MS && isKnown) || closing.signal.aborted) return false;
      const drained = drain(node)
        .catch((error: unknown) => log.error('a node could not be drained', { node, error }))
        .finally(() => {
          inProgress.delete(node);
          finishedAt.set(node, clock.elapsed());
        });
      inProgress.set(node, drained);
      return true;
    },
    problemOf: (id) => problems.get(id),
    isBusyOn: (node) => inProgress.has(node),
    close: async () => {
      closing.abort();
      await Promise.all(inProgress.values());
    },
  };
};
