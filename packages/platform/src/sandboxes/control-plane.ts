import { freemem, totalmem } from 'node:os';
import type { Directory } from '@skerry/contract/directory';
import type { Runtime } from '@skerry/runtime';
import { OPEN_NETWORK } from '@skerry/runtime/network-policy';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { ConnectAt } from '../nodes/connect-at.ts';
import { createDraining, type Draining } from '../nodes/draining.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { localPlacement } from '../nodes/placement.ts';
import { createRemoteRoutes } from '../nodes/remote-routes.ts';
import {
  ALIVE_STATES,
  ALL_STATES,
  type SandboxQuery,
  type SandboxRow,
  type SandboxState,
} from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { createRelocating } from '../stored/relocating.ts';
import { createStoredOrigins } from '../stored/stored-origins.ts';
import { createStoring, type Storing } from '../stored/storing.ts';
import { type Census, takeCensus } from '../telemetry/census.ts';
import { reportOperation } from '../telemetry/report-operation.ts';
import { noTelemetry, type Operation, type Telemetry } from '../telemetry/telemetry.ts';
import { type Building, createBuilding } from '../templates/building.ts';
import type { InstallationImage, TemplateImages } from '../templates/template-images.ts';
import { createToRootfs } from '../templates/to-rootfs.ts';
import type { ContextStore } from '../templates/uploads/context-store.ts';
import { SPARE_MEMORY } from '../warm/warm-pool.ts';
import { createWarmPools } from '../warm/warm-pools.ts';
import { createAdopt } from './adopt.ts';
import { createEnding } from './ending.ts';
import { createExpiry } from './expiry.ts';
import { createForking, type Forking } from './forking.ts';
import { createInspecting, type Inspecting } from './inspecting.ts';
import { createLifecycle, type Lifecycle, type LifecycleOptions, type Size } from './lifecycle.ts';
import { createNetworkRules, type NetworkRules } from './network-rules.ts';
import { createObservation, type Observation } from './observation.ts';
import { createPausing, type Pausing } from './pausing.ts';
import { createReconcile } from './reconcile.ts';
import { createRecovery } from './recovery.ts';
import { createResuming, type Resuming } from './resuming.ts';
import { createLive } from './running-handles.ts';
import { createSnapshotting, type Snapshotting } from './snapshotting.ts';
import { createTimeToLive, type TimeToLive } from './time-to-live.ts';
import { createTransitions, type TransitionKind } from './transitions.ts';

export interface ControlPlaneOptions {
  store: Store;
  runtime: Runtime;
  /** Where sandboxes are on other machines. */
  nodes?: Nodes | undefined;
  /** Where several servers share them. */
  connectAt?: ConnectAt | undefined;
  images: { base: InstallationImage; templates?: TemplateImages | undefined };
  contexts?: ContextStore | undefined;
  imports?: ContextStore | undefined;
  mountCaches?: ContextStore | undefined;
  secret: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
  /** Default: nothing is reported. */
  telemetry?: Telemetry | undefined;
}

/** All services that act on sandboxes. */
export interface ControlPlane {
  readonly lifecycle: Lifecycle;
  readonly pausing: Pausing;
  readonly resuming: Resuming;
  readonly snapshotting: Snapshotting;
  readonly building: Building;
  readonly inspecting: Inspecting;
  readonly forking: Forking;
  readonly timeToLive: TimeToLive;
  readonly networkRules: NetworkRules;
  readonly observation: Observation;
  readonly directory: Directory;
  /** Undefined without a blob store. */
  readonly storing: Storing | undefined;
  /** The same. */
  readonly draining: Draining | undefined;
  /**
   * Makes rows and instances agree, then keeps them so, and starts sandboxes of the base template in advance. Rejects
   * when the store or the runtime cannot be read.
   */
  start(base: Size): Promise<void>;
  /** Starts or stops sandboxes in advance soon, as when a node takes no more. */
  adjustWarm(): void;
  /** A round of what is repeated every minute, after the one in progress. Rejects when a sandbox on that node that has ended for its callers could not be stopped. */
  settleNode(node: string): Promise<void>;
  /** Closes what runs on a node that is held for dead as `lost`. It is stopped when the node answers again. */
  loseNode(node: string): Promise<void>;
  /** Closes all that is on a node that does not come back, also what is paused. */
  abandonNode(node: string): Promise<void>;
  /** Forgets what runs on a node, which another server has taken over. */
  leaveNode(node: string): void;
  /** Whether nothing that this server began on a node is under way. */
  isIdleOn(node: string): Promise<boolean>;
  /** Looks up which of the sandboxes of other servers have ended: their connections are reset, and their copies removed then. */
  check(): Promise<void>;
  /** Rejects when the database cannot be read. */
  census(): Promise<Census>;
  /** Resolves when no operation is in progress. Sandboxes live on. */
  close(): Promise<void>;
}

/** The transitions that operators hear of. */
const operations: Partial<Record<TransitionKind, Operation>> = {
  'pause-memory': 'pause',
  'pause-filesystem': 'pause',
  resume: 'resume',
};

const RECONCILE_INTERVAL_MS = 60_000;

export const createControlPlane = (options: ControlPlaneOptions): ControlPlane => {
  const { store, clock, log, images, limits, nodes, telemetry = noTelemetry } = options;
  const placement = nodes?.placement ?? localPlacement;
  const live = createLive();
  const owns = nodes?.owns ?? (() => true);
  const remote = nodes?.isShared ? createRemoteRoutes({ ...options, nodes, live }) : undefined;
  const expiry = createExpiry({
    clock,
    onDue: (id) => {
      lifecycle.expire(id).catch((error) => log.error('an expiry failed', { sandboxId: id, error }));
    },
  });
  const isStored = async (row: SandboxRow): Promise<boolean> => (await storing?.find(row)) !== undefined;
  const onChange = (): void => storing?.soon();
  const transitions = createTransitions({
    onOver: onChange,
    around: (kind, work) => {
      const operation = operations[kind];
      return operation === undefined ? work() : reportOperation(operation, work, { telemetry, clock });
    },
  });
  const observation = createObservation(options);
  live.directory.onEnd((id) => observation.end(id));
  const ending = createEnding({
    ...options,
    live,
    transitions,
    expiry,
    observation,
    onEnded: onChange,
  });
  const adopt = createAdopt({ ...options, live, expiry, ending, observation });
  const recovery = createRecovery({ ...options, ending, adopt, isStored });
  const pausing = createPausing({ ...options, live, expiry, recovery, ending, transitions, observation });
  const toRootfs = createToRootfs(images);
  const toSpec: LifecycleOptions['toSpec'] = (size, { network, snapshot, build }) => ({
    ...(snapshot === null ? { rootfs: toRootfs(build) } : { snapshot: snapshot.id }),
    limits: {
      cpuCount: size.cpuCount,
      memoryBytes: size.memoryMb * 2 ** 20,
      diskBytes: size.diskMb * 2 ** 20,
      processCount: limits.processCount,
    },
    network: network ?? OPEN_NETWORK,
  });
  const warm = createWarmPools({
    ...options,
    telemetry,
    isOnNodes: nodes !== undefined,
    roomOf: nodes?.warmRoomOf ?? (() => (freemem() > totalmem() * SPARE_MEMORY ? 'free' : 'short')),
  });
  const rootfsOf = async ({ buildId }: { buildId: string | null }): Promise<string> =>
    toRootfs(buildId === null ? null : ((await store.findBuild(buildId)) ?? null));
  const { copies } = nodes ?? {};
  const storedOrigins = nodes && copies && createStoredOrigins({ store, copies, nodes, rootfsOf });
  const lifecycle = createLifecycle({
    ...options,
    live,
    expiry,
    ending,
    pausing,
    adopt,
    warm,
    placement,
    storedOrigins,
    toSpec,
    telemetry,
  });
  const timeToLive = createTimeToLive({ ...options, expiry });
  const snapshotting = createSnapshotting({
    ...{ ...options, transitions, owns },
    nodeOfBuild: nodes?.nodeOfBuild,
  });
  const storing: Storing | undefined =
    nodes &&
    copies &&
    createStoring({
      ...{ ...options, copies, snapshotting, transitions, rootfsOf },
      canReach: nodes.canReach,
      isBuilder: () => nodes.isBuilder,
    });
  const relocating =
    nodes &&
    copies &&
    storing &&
    createRelocating({
      ...options,
      ...{ copies, storing, snapshotting, placement, rootfsOf },
      canReach: nodes.canReach,
      isCordoned: nodes.isCordoned,
      toSpec: (row, id) => toSpec(row, { ...row, snapshot: { id }, build: null }),
    });
  const resuming = createResuming({
    ...options,
    recovery,
    transitions,
    timeToLive,
    placement,
    relocating,
  });
  const draining =
    nodes &&
    storing &&
    createDraining({ ...options, nodes, pausing, resuming, storing, snapshotting, transitions });
  const building = createBuilding({ ...options, snapshotting, isBuilder: () => nodes?.isBuilder ?? true });
  const inspecting = createInspecting({ ...options, transitions, toRootfs });
  const forking = createForking({ lifecycle, snapshotting });
  const listOwn = (query: SandboxQuery): Promise<SandboxRow[]> => {
    const owned = nodes?.owned();
    return store.listSandboxes(owned === undefined ? query : { ...query, nodes: [...owned, null] });
  };
  const networkRules = createNetworkRules({
    ...options,
    transitions,
    listPending: () => listOwn({ states: ['running'], isNetworkPending: true, order: 'asc' }),
  });
  const reconcile = createReconcile({
    ...options,
    live,
    ending,
    adopt,
    lifecycle,
    building,
    recovery,
    transitions,
    observation,
    listOwn,
    canReach: nodes?.canReach ?? (() => true),
    nodeOf: nodes?.nodeOf ?? (() => null),
    isStored,
  });

  let closed = false;
  let cancelNext = (): void => {};
  let round = Promise.resolve();
  const repeat = (): void => {
    if (closed) return;
    cancelNext = clock.after(RECONCILE_INTERVAL_MS, () => {
      void warm.adjust();
      round = round
        .then(runRound)
        .catch((error) => log.error('reconcile failed and will be retried', { error }))
        .then(repeat);
    });
  };
  const runRound = async (): Promise<void> => {
    await reconcile.run();
    await networkRules.complete();
    await snapshotting.collect();
    await building.collect();
    storing?.soon();
  };
  /** The round after the one in progress, until it begins: nodes that come back at the same time share it. */
  let next: Promise<void> | undefined;
  /** Resolves when what the round has found is ended, or could not be. */
  const runNow = async (): Promise<void> => {
    if (next === undefined) {
      next = round.then(() => {
        next = undefined;
        return runRound();
      });
      round = next.catch(() => {
        // The callers receive the rejection; later rounds only wait for the end.
      });
    }
    await next;
    await reconcile.settled();
    await ending.settled();
  };
  /** Ends the sandboxes on a node that are in one of these states, as `lost`; resolves with all that are being ended there. */
  const endOnNode = async (node: string, states: readonly SandboxState[]): Promise<string[]> => {
    const rows = await store.listSandboxes({ states: [...states, 'killing'], order: 'asc', nodes: [node] });
    for (const { id, state } of rows)
      if (state !== 'killing') await ending.begin(id, 'lost', { from: states });
    return rows.map(({ id }) => id);
  };

  return {
    lifecycle,
    pausing,
    resuming,
    snapshotting,
    building,
    inspecting,
    forking,
    timeToLive,
    networkRules,
    observation,
    directory: remote?.directory ?? live.directory,
    storing,
    draining,
    start: async (base) => {
      await runRound();
      await warm.start(toSpec(base, { network: null, snapshot: null, build: null }));
      repeat();
    },
    adjustWarm: () => warm.adjustSoon(),
    settleNode: async (node) => {
      await runNow();
      const left = await store.listSandboxes({ states: ['killing'], order: 'asc', nodes: [node] });
      const moved = await reconcile.listMoved(node);
      const count = left.length + moved.length;
      if (count > 0) throw new Error(`${count} sandboxes on node "${node}" could not be stopped`);
      await warm.open(node);
    },
    loseNode: async (node) => {
      await endOnNode(node, ['running']);
      // Of these no caller knows whether they run: their pause counts, from which they can be resumed elsewhere.
      for (const row of await store.listSandboxes({ states: ['resuming'], order: 'asc', nodes: [node] }))
        if (transitions.current(row.id) === undefined && (await isStored(row)))
          await store.changeState(row.id, { from: ['resuming'], to: 'paused' });
    },
    abandonNode: async (node) => {
      warm.leave(node);
      for (const id of await endOnNode(node, ALIVE_STATES)) await ending.abandon(id);
    },
    leaveNode: (node) => {
      warm.leave(node);
      storing?.leave(node);
      for (const { id, runId } of live.leave(node)) {
        expiry.cancel(id);
        observation.end(id);
        remote?.follow(id, runId);
      }
    },
    isIdleOn: async (node) => {
      if (building.isBusy() || storing?.isBusyOn(node) || draining?.isBusyOn(node)) return false;
      const ids = [...lifecycle.underWay(), ...transitions.underWay(), ...ending.underWay()];
      if (ids.length === 0) return true;
      return (await store.countSandboxes({ states: ALL_STATES, ids, nodes: [node] })) === 0;
    },
    check: async () => {
      // What other servers have ended may have left copies of no use.
      if (nodes?.isBuilder) storing?.soon();
      await remote?.check();
    },
    census: () => takeCensus({ store, nodes, hasBlobs: storing !== undefined }),
    close: async () => {
      closed = true;
      cancelNext();
      expiry.close();
      await Promise.all([building.close(), draining?.close(), storing?.close()]);
      await Promise.all([lifecycle.settled(), transitions.settled(), round, warm.close()]);
      await Promise.all([ending.settled(), reconcile.settled()]);
      live.clear();
      expiry.close();
      await observation.close();
    },
  };
};
