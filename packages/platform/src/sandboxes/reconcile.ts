import type { Instance, Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { ACTIVE_STATES, type EndCause, type SandboxRow, type SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Building } from '../templates/building.ts';
import { createTurns } from '../turns.ts';
import type { Adopt } from './adopt.ts';
import type { Ending } from './ending.ts';
import { findInstance } from './find-instance.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Observation } from './observation.ts';
import type { Recovery } from './recovery.ts';
import type { Live } from './running-handles.ts';
import type { Transitions } from './transitions.ts';

export interface ReconcileOptions {
  store: Store;
  runtime: Runtime;
  live: Live;
  ending: Ending;
  adopt: Adopt;
  lifecycle: Pick<Lifecycle, 'isStarting' | 'expire'>;
  building: Pick<Building, 'isBuilding'>;
  recovery: Pick<Recovery, 'recover'>;
  transitions: Pick<Transitions, 'current' | 'run'>;
  observation: Pick<Observation, 'prune'>;
  /** As `listSandboxes` of the store, those that are on no node, or on one for which this server acts. */
  listOwn: Store['listSandboxes'];
  /** Whether the node of a row answers; what is on another one is left as it is. */
  canReach: (node: string | null) => boolean;
  /** The node of an instance that a list of the runtime has found; null: this host. */
  nodeOf: (instance: Instance) => string | null;
  /** Whether the present pause of a sandbox is in the blob store. */
  isStored?: ((row: SandboxRow) => Promise<boolean>) | undefined;
  clock: Clock;
  log: Log;
}

export interface Reconcile {
  /** One round. Resolves when every row is correct; removals may continue after that. */
  run(): Promise<void>;
  /** Of the instances on a node that the last round has found to be sandboxes of another one now, or of none, those that are still there. */
  listMoved(node: string): Promise<Instance[]>;
  /** Resolves when the instances that a round found without a row are removed. */
  settled(): Promise<void>;
}

/** How long the record of an ended sandbox is kept. */
const KEEP_ENDED_MS = 30 * 86_400_000;
/** Of single sandboxes, so that a server that has taken over thousands of them still answers calls meanwhile. */
const LOOKUPS_AT_A_TIME = 16;

/**
 * Makes rows and instances agree, both ways, after any failure of this process or the host:
 * 1. what expired meanwhile is ended or paused, before anything is adopted;
 * 2. a start without an owner is undone, an interrupted end is completed, an interrupted pause or resume is completed
 * or undone;
 * 3. a running or paused row whose instance is gone is closed as `lost`; a running one whose instance lives is made
 * reachable;
 * 4. an instance without a row, which no build uses, is removed, and so is one of a sandbox that has moved to another node.
 * A paused sandbox without an instance is not lost while the blob store has it.
 */
export const createReconcile = (options: ReconcileOptions): Reconcile => {
  const {
    store,
    runtime,
    live,
    ending,
    adopt,
    lifecycle,
    building,
    recovery,
    transitions,
    observation,
    listOwn,
    canReach,
    nodeOf,
    isStored,
    clock,
    log,
  } = options;

  const end = async (id: string, cause: EndCause, from: SandboxState, endAtMost?: number): Promise<void> => {
    const row = await ending.begin(id, cause, {
      from: [from],
      ...(endAtMost !== undefined && { endAtMost }),
    });
    if (row !== undefined) void ending.finish(id);
  };

  const recover = (id: string): void => {
    if (transitions.current(id) !== undefined) return;
    transitions
      .run(id, 'recovery', () => recovery.recover(id))
      .catch((error) => log.error('a transition could not be completed', { sandboxId: id, error }));
  };

  const check = async (row: SandboxRow, listed: Instance | undefined): Promise<void> => {
    if (row.state === 'killing') {
      void ending.finish(row.id);
    } else if (row.state === 'starting') {
      if (!lifecycle.isStarting(row.id)) await end(row.id, 'failed', 'starting');
    } else if (row.state === 'pausing' || row.state === 'resuming') {
      recover(row.id);
    } else {
      // One that is on another node than its row says is none of this row.
      const isListed = listed !== undefined && nodeOf(listed) === row.node;
      // One that is not listed may have been made since, or be on a node that could not list what it has.
      const instance = isListed ? listed : await lookups.take(() => findInstance(runtime, row.id));
      const isGone =
        instance === undefined || (row.state === 'running' && (await instance.state()) === 'stopped');
      const isKept = isGone && row.state === 'paused' && (await isStored?.(row));
      if (isKept) return;
      if (isGone) await end(row.id, 'lost', row.state);
      else if (row.state === 'running' && !live.has(row.id)) await adoptIfRunning(row.id, instance);
    }
  };

  const adoptIfRunning = async (id: string, instance: Instance): Promise<void> => {
    // A kill may have come since the row was read.
    const row = await lookups.take(() => store.findSandbox(id));
    if (row?.state !== 'running' || live.has(id)) return;
    adopt(row, instance);
    log.info('sandbox adopted', { sandboxId: id });
  };

  const each = async <T>(items: Iterable<T>, id: (item: T) => string, run: (item: T) => Promise<void>) => {
    await Promise.all(
      Array.from(items, (item) =>
        run(item).catch((error) =>
          log.error('reconcile failed for a sandbox', { sandboxId: id(item), error }),
        ),
      ),
    );
  };

  const removeStrays = async (instances: Instance[]): Promise<void> => {
    await each(
      instances,
      (instance) => instance.id,
      async (instance) => {
        log.warn('removing an instance without a record there', {
          sandboxId: instance.id,
          node: nodeOf(instance),
        });
        await instance.stop();
      },
    );
  };

  const findMoved = (instances: readonly Instance[], rows: readonly SandboxRow[]): Instance[] => {
    const places = new Map(rows.map(({ id, node }) => [id, node]));
    return instances.filter((instance) => {
      const place = places.get(instance.id);
      return place !== undefined && place !== nodeOf(instance);
    });
  };

  const active = { states: ACTIVE_STATES, order: 'asc' } as const;
  /** The rows of these instances, on whichever node they are. */
  const rowsOf = async (instances: readonly Instance[]): Promise<SandboxRow[]> =>
    instances.length === 0 ? [] : store.listSandboxes({ ...active, ids: instances.map(({ id }) => id) });

  const lookups = createTurns(LOOKUPS_AT_A_TIME);
  let removal = Promise.resolve();
  /** The nodes where the last round found such instances; undefined before the first. */
  let movedOn: ReadonlySet<string | null> | undefined;

  return {
    run: async () => {
      const now = clock.now();
      const expired = await listOwn({ states: ['running'], order: 'asc', endsUntil: now });
      for (const row of expired) {
        if (row.autoPause === null) await end(row.id, 'expired', 'running', now);
        else
          lifecycle
            .expire(row.id)
            .catch((error) => log.error('an expiry failed', { sandboxId: row.id, error }));
      }

      const instances: Instance[] = [];
      for await (const instance of runtime.list()) instances.push(instance);
      // The order matters. Rows are read after the instances: a row is written before its instance is made, so each listed
      // instance has one, unless it is a stray, has just ended or belongs to a build. Warm rows are read before those of sandboxes: a
      // create moves a row from the former to the latter, and one that moves meanwhile is then read twice rather than never.
      const warm = await store.listWarm();
      const own = await listOwn(active);
      const reachable = own.filter(({ node }) => canReach(node));
      const found = new Map(instances.map((instance) => [instance.id, instance]));
      await each(
        reachable,
        (row) => row.id,
        (row) => check(row, found.get(row.id)),
      );
      const known = new Set([...warm, ...expired, ...own].map((row) => row.id));
      const unknown = instances.filter(({ id }) => !known.has(id) && !building.isBuilding(id));
      const others = await rowsOf(unknown);
      const moved = findMoved(instances, [...own, ...others]);
      movedOn = new Set(moved.map(nodeOf));
      const recorded = new Set(others.map(({ id }) => id));
      const strays = unknown.filter(({ id }) => !recorded.has(id));
      strays.push(...moved);
      removal = removal
        .then(() => removeStrays(strays))
        .catch((error) => log.error('reconcile failed for stray instances', { error }));
      await store.deleteEndedSandboxes(now - KEEP_ENDED_MS);
      await observation.prune();
    },
    listMoved: async (node) => {
      if (movedOn?.has(node) === false) return [];
      const instances: Instance[] = [];
      for await (const instance of runtime.list()) if (nodeOf(instance) === node) instances.push(instance);
      return findMoved(instances, await rowsOf(instances));
    },
    settled: () => removal,
  };
};
