import type { Directory } from '@skerry/contract/directory';
import { OPEN_NETWORK } from '@skerry/runtime/network';
import { type Copier, createCopier } from '../blob-copies/copier.ts';
import { createDrainer, type Drainer } from '../blob-copies/drainer.ts';
import { createRelocator } from '../blob-copies/relocator.ts';
import type { Clock } from '../clock.ts';
import { createExpiry } from '../expiry.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { ConnectAt } from '../http/connect-at.ts';
import type { Ids } from '../ids.ts';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { NewWork } from '../new-work.ts';
import { createAdopt } from '../sandboxes/adopt.ts';
import { type Creator, createCreator } from '../sandboxes/create/creator.ts';
import type { Size, ToSpec } from '../sandboxes/create/origins.ts';
import { createForker, type Forker } from '../sandboxes/forker.ts';
import { createInspector, type Inspector } from '../sandboxes/inspector.ts';
import { createLifecycle, type Lifecycle } from '../sandboxes/lifecycle.ts';
import { createNetworkRules, type NetworkRules } from '../sandboxes/network-rules.ts';
import { createObservation, type Observation } from '../sandboxes/observation.ts';
import { createPauser, type Pauser } from '../sandboxes/pauser.ts';
import { createReconcile } from '../sandboxes/reconcile.ts';
import { createRecovery } from '../sandboxes/recovery.ts';
import { createResumer, type Resumer } from '../sandboxes/resumer.ts';
import { createLive } from '../sandboxes/running-handles.ts';
import { createSnapshotter, type Snapshotter } from '../sandboxes/snapshotter.ts';
import { createTerminator } from '../sandboxes/terminator.ts';
import { createTimeToLive, type TimeToLive } from '../sandboxes/time-to-live.ts';
import { createTransitions, type TransitionKind } from '../sandboxes/transitions.ts';
import { createWaker, type Waker } from '../sandboxes/waker.ts';
import type { SandboxQuery, SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { type Census, takeCensus } from '../telemetry/census.ts';
import { reportOperation } from '../telemetry/report-operation.ts';
import { noTelemetry, type Operation, type Telemetry } from '../telemetry/telemetry.ts';
import { createTemplateBuilder, type TemplateBuilder } from '../templates/template-builder.ts';
import { createToRootfs } from '../templates/to-rootfs.ts';
import type { ArchiveStore } from '../templates/uploads/archive-store.ts';
import { createWarmPools } from '../warm/warm-pools.ts';
import { createNodeEvents, type NodeEvents } from './node-events.ts';
import { createRemoteRoutes } from './remote-routes.ts';
import { createRounds } from './rounds.ts';

export interface ControlPlaneOptions {
  store: Store;
  hosts: Hosts;
  newWork: Pick<NewWork, 'require'>;
  /** Where several servers share them. */
  connectAt?: ConnectAt | undefined;
  images: { base: InstallationImage; templates?: TemplateImages | undefined };
  buildFiles?: ArchiveStore | undefined;
  imports?: ArchiveStore | undefined;
  mountCaches?: ArchiveStore | undefined;
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
  readonly creator: Creator;
  readonly lifecycle: Lifecycle;
  readonly pauser: Pauser;
  readonly resumer: Resumer;
  readonly waker: Waker;
  readonly snapshotter: Snapshotter;
  readonly templateBuilder: TemplateBuilder;
  readonly inspector: Inspector;
  readonly forker: Forker;
  readonly timeToLive: TimeToLive;
  readonly networkRules: NetworkRules;
  readonly observation: Observation;
  readonly nodeEvents: NodeEvents;
  readonly directory: Directory;
  /** Undefined without a blob store. */
  readonly copier: Copier | undefined;
  /** Undefined without a blob store. */
  readonly drainer: Drainer | undefined;
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

/** How long, and how many, calls with an `Idempotency-Key` are kept with their answers. */
const KEPT_CALL_MS = 24 * 60 * 60_000;
/** The number of answers that are kept for each key. */
const MAX_KEPT_CALLS = 100_000;

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
  const hasBlobCopy = async (row: SandboxRow): Promise<boolean> => (await copier?.find(row)) !== undefined;
  const onChange = (): void => copier?.soon();
  const transitions = createTransitions({
    onOver: onChange,
    around: (kind, work) => {
      const operation = operations[kind];
      return operation === undefined ? work() : reportOperation(operation, work, { telemetry, clock });
    },
  });
  const observation = createObservation(options);
  live.directory.onEnd((id) => observation.end(id));
  const base = { ...options, telemetry, live, transitions, expiry, observation, hasBlobCopy };
  const terminator = createTerminator({ ...base, onEnded: onChange });
  const adopt = createAdopt({ ...base, terminator });
  const recovery = createRecovery({ ...base, terminator, adopt });
  const pauser = createPauser({ ...base, recovery, terminator });
  const toRootfs = createToRootfs(images);
  const toSpec: ToSpec = (size, { isolation, network, snapshot, build }) => ({
    isolation,
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
  const creator = createCreator({ ...base, terminator, adopt, warm, toSpec });
  const lifecycle = createLifecycle({ ...base, terminator, pauser });
  const timeToLive = createTimeToLive(base);
  const snapshotter = createSnapshotter(base);
  const ofCopies = copies && { ...base, copies, snapshotter, rootfsOf };
  const copier: Copier | undefined = ofCopies && createCopier(ofCopies);
  const relocator =
    ofCopies &&
    copier &&
    createRelocator({
      ...{ ...ofCopies, copier },
      toSpec: (row, id) => toSpec(row, { ...row, snapshot: { id }, build: null }),
    });
  const resumer = createResumer({ ...base, recovery, timeToLive, relocator });
  const waker = createWaker({ ...base, resumer });
  const drainer = copier && createDrainer({ ...base, pauser, resumer, copier, snapshotter });
  const templateBuilder = createTemplateBuilder({ ...base, snapshotter });
  const inspector = createInspector({ ...base, toRootfs });
  const forker = createForker({ creator, snapshotter });
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
    ...{ terminator, adopt, creator, lifecycle, templateBuilder, recovery, listOwn },
  });
  const runRound = async (): Promise<void> => {
    await reconcile.run();
    await networkRules.complete();
    await snapshotter.collect();
    await templateBuilder.collect();
    await store.pruneCalls({ before: clock.now() - KEPT_CALL_MS, keep: MAX_KEPT_CALLS });
    copier?.soon();
  };
  const rounds = createRounds(runRound, { onTick: () => void warm.adjust(), clock, log });
  const nodeEvents = createNodeEvents({
    ...base,
    ...{ creator, terminator, reconcile, rounds, templateBuilder, warm, remote, copier, drainer },
  });

  return {
    ...{ creator, lifecycle, pauser, resumer, snapshotter, templateBuilder, inspector, forker },
    ...{ timeToLive, networkRules, observation, waker, copier, drainer, nodeEvents },
    directory: { ...remote.directory, findDormant: waker.find },
    start: async (size) => {
      // What expired meanwhile ends before anything is started in advance.
      await rounds.start();
      const isolation = hosts.features.level;
      await warm.start(toSpec(size, { isolation, network: null, snapshot: null, build: null }));
    },
    census: () => takeCensus({ store, hosts }),
    close: async () => {
      const ended = rounds.close();
      expiry.close();
      await Promise.all([templateBuilder.close(), drainer?.close(), copier?.close()]);
      await Promise.all([creator.settled(), transitions.settled(), ended, warm.close()]);
      await Promise.all([terminator.settled(), reconcile.settled()]);
      live.clear();
      expiry.close();
      await observation.close();
    },
  };
};
