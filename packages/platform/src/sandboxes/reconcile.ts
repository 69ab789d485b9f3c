import { createTurns } from '@skerry/contract/turns';
import type { Clock } from '../clock.ts';
import { findInstance } from '../hosts/find-instance.ts';
import type { HostedInstance, Hosts } from '../hosts/hosts.ts';
import type { Log } from '../log.ts';
import { ACTIVE_STATES, type EndCause, type SandboxRow, type SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Adopt } from './adopt.ts';
import type { Creator } from './create/creator.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Observation } from './observation.ts';
import type { Recovery } from './recovery.ts';
import type { Live } from './running-handles.ts';
import type { Terminator } from './terminator.ts';
import type { Transitions } from './transitions.ts';

export interface ReconcileOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'instances' | 'canReach'>;
  live: Live;
  terminator: Terminator;
  adopt: Adopt;
  creator: Pick<Creator, 'isStarting'>;
  lifecycle: Pick<Lifecycle, 'expire'>;
  /** Whether an instance is the sandbox of a build. */
  templateBuilder: { isBuilding(instanceId: string): boolean };
  recovery: Pick<Recovery, 'recover'>;
  transitions: Pick<Transitions, 'current' | 'run'>;
  observation: Pick<Observation, 'prune'>;
  /** `listSandboxes` of the store, for the sandboxes on no node and on nodes that this server owns. */
  listOwn: Store['listSandboxes'];
  /** Whether the present pause of a sandbox is in the blob store. */
  hasBlobCopy?: ((row: SandboxRow) => Promise<boolean>) | undefined;
  clock: Clock;
  log: Log;
}

export interface Reconcile {
  /** One round. Resolves when every row is correct; removals may continue after that. */
  run(): Promise<void>;
  /**
   * Lists the instances on a node that still exist, although the last round found that their sandboxes are on
   * another node now, or have ended.
   */
  listMoved(node: string): Promise<HostedInstance[]>;
  /** Resolves when the instances that a round found without a row are removed. */
  settled(): Promise<void>;
}

/** How long the record of an ended sandbox is kept. */
const KEEP_ENDED_MS = 30 * 86_400_000;
/**
 * The number of concurrent lookups of single sandboxes: a server that has taken over thousands of them still
 * answers calls meanwhile.
 */
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
    hosts,
    live,
    terminator,
    adopt,
    creator,
    lifecycle,
    templateBuilder,
    recovery,
    transitions,
    observation,
    listOwn,
    hasBlobCopy,
    clock,
    log,
  } = options;

  const end = async (id: string, cause: EndCause, from: SandboxState, endAtMost?: number): Promise<void> => {
    const row = await terminator.begin(id, cause, {
      from: [from],
      ...(endAtMost !== undefined && { endAtMost }),
    });
    if (row !== undefined) void terminator.finish(row);
  };

  const recover = (id: string): void => {
    if (transitions.current(id) !== undefined) return;
    transitions
      .run(id, 'recovery', () => recovery.recover(id))
      .catch((error) => log.error('a transition could not be completed', { sandboxId: id, error }));
  };

  const check = async (row: SandboxRow, listed: HostedInstance | undefined): Promise<void> => {
    if (row.state === 'killing') {
      void terminator.finish(row);
    } else if (row.state === 'starting') {
      if (!creator.isStarting(row.id)) await end(row.id, 'failed', 'starting');
    } else if (row.state === 'pausing' || row.state === 'resuming') {
      recover(row.id);
    } else {
      // One that is on another node than its row says is none of this row.
      const isListed = listed?.host.node === row.node;
      // One that is not listed may have been made since, or be on a node that could not list what it has.
      const instance = isListed ? listed.instance : await lookups.take(() => findInstance(hosts, row));
      const isGone =
        instance === undefined || (row.state === 'running' && (await instance.state()) === 'stopped');
      const isKept = isGone && row.state === 'paused' && (await hasBlobCopy?.(row));
      if (isKept) return;
      if (isGone) await end(row.id, 'lost', row.state);
      else if (row.state === 'running' && !live.has(row.id)) await adoptIfRunning(row.id, instance);
    }
  };

  const adoptIfRunning = async (id: string, instance: HostedInstance['instance']): Promise<void> => {
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

  const removeStrays = async (strays: HostedInstance[]): Promise<void> => {
    await each(
      strays,
      ({ instance }) => instance.id,
      async ({ host: { node }, instance }) => {
        log.warn('removing an instance without a record there', { sandboxId: instance.id, node });
        await instance.stop();
      },
    );
  };

  const findMoved = (instances: readonly HostedInstance[], rows: readonly SandboxRow[]): HostedInstance[] => {
    const places = new Map(rows.map(({ id, node }) => [id, node]));
    return instances.filter(({ host, instance }) => {
      const place = places.get(instance.id);
      return place !== undefined && place !== host.node;
    });
  };

  const active = { states: ACTIVE_STATES, order: 'asc' } as const;
  /** The rows of these instances, on whichever node they are. */
  const rowsOf = async (instances: readonly HostedInstance[]): Promise<SandboxRow[]> =>
    instances.length === 0
      ? []
      : store.listSandboxes({ ...active, ids: instances.map(({ instance }) => instance.id) });

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

      const instances = await Array.fromAsync(hosts.instances());
      // The order matters. Rows are read after the instances: a row is written before its instance is made, so each listed
      // instance has one, unless it is a stray, has just ended or belongs to a build. Warm rows are read before those of sandboxes: a
      // create moves a row from the former to the latter, and one that moves meanwhile is then read twice rather than never.
      const warm = await store.listWarm();
      const own = await listOwn(active);
      const reachable = own.filter(({ node }) => hosts.canReach(node));
      const found = new Map(instances.map((one) => [one.instance.id, one]));
      await each(
        reachable,
        (row) => row.id,
        (row) => check(row, found.get(row.id)),
      );
      const known = new Set([...warm, ...expired, ...own].map((row) => row.id));
      const unknown = instances.filter(
        ({ instance: { id } }) => !known.has(id) && !templateBuilder.isBuilding(id),
      );
      const others = await rowsOf(unknown);
      const moved = findMoved(instances, [...own, ...others]);
      movedOn = new Set(moved.map(({ host }) => host.node));
      const recorded = new Set(others.map(({ id }) => id));
      const strays = unknown.filter(({ instance }) => !recorded.has(instance.id));
      strays.push(...moved);
      removal = removal
        .then(() => removeStrays(strays))
        .catch((error) => log.error('reconcile failed for stray instances', { error }));
      await store.deleteEndedSandboxes(now - KEEP_ENDED_MS);
      await observation.prune();
    },
    listMoved: async (node) => {
      if (movedOn?.has(node) === false) return [];
      const all = await Array.fromAsync(hosts.instances());
      const there = all.filter(({ host }) => host.node === node);
      return findMoved(there, await rowsOf(there));
    },
    settled: () => removal,
  };
};
