import type { Directory } from '@skerry/contract/directory';
import { OPEN_NETWORK } from '@skerry/runtime/network-policy';
import type { Clock } from '../clock.ts';
import { createExpiry } from '../expiry.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { ConnectAt } from '../http/connect-at.ts';
import type { Ids } from '../ids.ts';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import { createAdopt } from '../sandboxes/adopt.ts';
import { type Creating, createCreating } from '../sandboxes/create/creating.ts';
import type { Size, ToSpec } from '../sandboxes/create/origins.ts';
import { createEnding } from '../sandboxes/ending.ts';
import { createForking, type Forking } from '../sandboxes/forking.ts';
import { createInspecting, type Inspecting } from '../sandboxes/inspecting.ts';
import { createLifecycle, type Lifecycle } from '../sandboxes/lifecycle.ts';
import { createNetworkRules, type NetworkRules } from '../sandboxes/network-rules.ts';
import { createObservation, type Observation } from '../sandboxes/observation.ts';
import { createPausing, type Pausing } from '../sandboxes/pausing.ts';
import { createReconcile } from '../sandboxes/reconcile.ts';
import { createRecovery } from '../sandboxes/recovery.ts';
import { createResuming, type Resuming } from '../sandboxes/resuming.ts';
import { createLive } from '../sandboxes/running-handles.ts';
import { createSnapshotting, type Snapshotting } from '../sandboxes/snapshotting.ts';
import { createTimeToLive, type TimeToLive } from '../sandboxes/time-to-live.ts';
import { createTransitions, type TransitionKind } from '../sandboxes/transitions.ts';
import { createWaking, type Waking } from '../sandboxes/waking.ts';
import type { SandboxQuery, SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { createDraining, type Draining } from '../stored/draining.ts';
import { createRelocating } from '../stored/relocating.ts';
import { createStoring, type Storing } from '../stored/storing.ts';
import { type Census, takeCensus } from '../telemetry/census.ts';
import { reportOperation } from '../telemetry/report-operation.ts';
import { noTelemetry, type Operation, type Telemetry } from '../telemetry/telemetry.ts';
import { type Building, createBuilding } from '../templates/building.ts';
import { createToRootfs } from '../templates/to-rootfs.ts';
import type { ContextStore } from '../templates/uploads/context-store.ts';
import { createWarmPools } from '../warm/warm-pools.ts';
import { createNodeEvents, type NodeEvents } from './node-events.ts';
import { createRemoteRoutes } from './remote-routes.ts';
import { createRounds } from './rounds.ts';

export interface ControlPlaneOptions {
  store: Store;
  hosts: Hosts;
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
  readonly creating: Creating;
  readonly lifecycle: Lifecycle;
  readonly pausing: Pausing;
  readonly resuming: Resuming;
  readonly waking: Waking;
  readonly snapshotting: Snapshotting;
  readonly building: Building;
  readonly inspecting: Inspecting;
  readonly forking: Forking;
  readonly timeToLive: TimeToLive;
  readonly networkRules: NetworkRules;
  readonly observation: Observation;
  readonly nodeEvents: NodeEvents;
  readonly directory: Directory;
  /** Undefined without a blob store. */
  readonly storing: Storing | undefined;
  /** Undefined without a blob store. */
  readonly draining: Draining | undefined;
  /**
   * Makes rows and instances agree, then keeps them so, and starts sandboxes of the base template in advance. Rejects
   * when the store or a host cannot be read.
   */
  start(base: Size): Promise<void>;
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

export const createControlPlane = (options: ControlPlaneOptions): ControlPlane => {
  const { store, hosts, clock, log, images, limits, telemetry = noTelemetry } = options;
  const { copies } = hosts;
  const live = createLive();
  const remote = createRemoteRoutes({ ...options, live });
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
  const base = { ...options, telemetry, live, transitions, expiry, observation, isStored };
  const ending = createEnding({ ...base, onEnded: onChange });
  const adopt = createAdopt({ ...base, ending });
  const recovery = createRecovery({ ...base, ending, adopt });
  const pausing = createPausing({ ...base, recovery, ending });
  const toRootfs = createToRootfs(images);
  const toSpec: ToSpec = (size, { network, snapshot, build }) => ({
    ...(snapshot === null ? { rootfs: toRootfs(build) } : { snapshot: snapshot.id }),
    limits: {
      cpuCount: size.cpuCount,
      memoryBytes: size.memoryMb * 2 ** 20,
      diskBytes: size.diskMb * 2 ** 20,
      processCount: limits.processCount,
    },
    network: network ?? OPEN_NETWORK,
  });
  const rootfsOf = async ({ buildId }: { buildId: string | null }): Promise<string> =>
    toRootfs(buildId === null ? null : ((await store.findBuild(buildId)) ?? null));
  const warm = createWarmPools(base);
  const creating = createCreating({ ...base, ending, adopt, warm, toSpec });
  const lifecycle = createLifecycle({ ...base, ending, pausing });
  const timeToLive = createTimeToLive(base);
  const snapshotting = createSnapshotting(base);
  const ofCopies = copies && { ...base, copies, snapshotting, rootfsOf };
  const storing: Storing | undefined = ofCopies && createStoring(ofCopies);
  const relocating =
    ofCopies &&
    storing &&
    createRelocating({
      ...{ ...ofCopies, storing },
      toSpec: (row, id) => toSpec(row, { ...row, snapshot: { id }, build: null }),
    });
  const resuming = createResuming({ ...base, recovery, timeToLive, relocating });
  const waking = createWaking({ ...base, resuming });
  const draining = storing && createDraining({ ...base, pausing, resuming, storing, snapshotting });
  const building = createBuilding({ ...base, snapshotting });
  const inspecting = createInspecting({ ...base, toRootfs });
  const forking = createForking({ creating, snapshotting });
  const listOwn = (query: SandboxQuery): Promise<SandboxRow[]> => {
    const { owned } = hosts;
    return store.listSandboxes(owned === 'all' ? query : { ...query, nodes: [...owned, null] });
  };
  const networkRules = createNetworkRules({
    ...base,
    listPending: () => listOwn({ states: ['running'], isNetworkPending: true, order: 'asc' }),
  });
  const reconcile = createReconcile({
    ...base,
    ...{ ending, adopt, creating, lifecycle, building, recovery, listOwn },
  });
  const runRound = async (): Promise<void> => {
    await reconcile.run();
    await networkRules.complete();
    await snapshotting.collect();
    await building.collect();
    storing?.soon();
  };
  const rounds = createRounds(runRound, { onTick: () => void warm.adjust(), clock, log });
  const nodeEvents = createNodeEvents({
    ...base,
    ...{ creating, ending, reconcile, rounds, building, warm, remote, storing, draining },
  });

  return {
    ...{ creating, lifecycle, pausing, resuming, snapshotting, building, inspecting, forking },
    ...{ timeToLive, networkRules, observation, waking, storing, draining, nodeEvents },
    directory: { ...remote.directory, findDormant: waking.find },
    start: async (size) => {
      // What expired meanwhile ends before anything is started in advance.
      await rounds.start();
      await warm.start(toSpec(size, { network: null, snapshot: null, build: null }));
    },
    census: () => takeCensus({ store, hosts }),
    close: async () => {
      const ended = rounds.close();
      expiry.close();
      await Promise.all([building.close(), draining?.close(), storing?.close()]);
      await Promise.all([creating.settled(), transitions.settled(), ended, warm.close()]);
      await Promise.all([ending.settled(), reconcile.settled()]);
      live.clear();
      expiry.close();
      await observation.close();
    },
  };
};
