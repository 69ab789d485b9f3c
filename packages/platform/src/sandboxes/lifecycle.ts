import { ApiError, notFound } from '@skerry/contract/error';
import { type Instance, isRuntimeError, type NetworkPolicy, type Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import { toMemoryExtraMs } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Placement } from '../nodes/placement.ts';
import type { BuildRow } from '../store/build-rows.ts';
import {
  type NewSandbox,
  PAUSED_STATES,
  type PauseKind,
  type SandboxRow,
  type SnapshotRow,
  type TemplateRow,
} from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { StoredOrigins } from '../stored/stored-origins.ts';
import { reportOperation } from '../telemetry/report-operation.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { findCheckpoint, startInNewSandbox, toOwnCommands } from '../templates/start-in-new-sandbox.ts';
import type { SpecRequest, WarmSpec } from '../warm/warm-pool.ts';
import type { WarmPools } from '../warm/warm-pools.ts';
import type { Adopt } from './adopt.ts';
import { setUpAgent } from './agent.ts';
import type { Ending } from './ending.ts';
import type { Expiry } from './expiry.ts';
import type { Pausing } from './pausing.ts';
import { type Beginning, createReserve, type Origin, type Placed } from './reserving.ts';
import type { Live } from './running-handles.ts';
import { limitReached, toStartError } from './start-error.ts';
import { explainMissing, isAlive, toMissingError } from './visible-state.ts';

export interface CreateRequest {
  template: TemplateRow;
  /** The snapshot that it begins with; null: the image of the template. */
  snapshot: SnapshotRow | null;
  /** The build of the template, if it has builds. */
  build: BuildRow | null;
  timeoutMs: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  secure: boolean;
  /** Null: the creator did not choose; then it is open. */
  network: NetworkPolicy | null;
  /** What expiry keeps; null: the sandbox is killed then. */
  autoPause: PauseKind | null;
  /** Ends the wait for the start command of the template. */
  signal?: AbortSignal | undefined;
  /** Whether another server has sent it here, where it has to stay. */
  isForwarded?: boolean;
}

/** The limits of a sandbox. */
export type Size = Pick<Limits, 'cpuCount' | 'memoryMb' | 'diskMb'>;

/** Creates and expires sandboxes. */
export interface Lifecycle {
  /**
   * Resolves when the sandbox is usable: its agent has variables, token and default user. When it rejects, everything
   * of the sandbox is removed, or its removal is in progress. Rejects with the reason of the signal when that ends the
   * wait for the start command.
   */
  create(request: CreateRequest): Promise<SandboxRow>;
  /** As `create`, from a capture of a sandbox with its processes; all but id, token and time is copied. */
  fork(source: SandboxRow, captured: { id: string; timeoutMs: number }): Promise<SandboxRow>;
  /** Rejects with `not_found` unless it is running or paused. */
  get(id: string): Promise<SandboxRow>;
  /**
   * Resolves when it is stopped; two concurrent calls both succeed. Rejects with `not_found` unless it is running or
   * paused.
   */
  kill(id: string): Promise<void>;
  /** Whether this process is starting it now. */
  isStarting(id: string): boolean;
  /** The sandboxes that this process is starting. */
  underWay(): string[];
  /** Acts on an announced end: kills or pauses the sandbox unless its end was moved meanwhile. */
  expire(id: string): Promise<void>;
  /** Resolves when no start is in progress. Those that wait for the start command of their template fail. */
  settled(): Promise<void>;
}

export interface LifecycleOptions {
  store: Store;
  runtime: Runtime;
  live: Live;
  expiry: Expiry;
  ending: Ending;
  pausing: Pick<Pausing, 'pauseAtEnd'>;
  adopt: Adopt;
  warm: Pick<WarmPools, 'claim' | 'nodesWith' | 'giveBack' | 'evict' | 'adjustSoon'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
  placement: Placement;
  /** Where there is a blob store. */
  storedOrigins?: StoredOrigins | undefined;
  secret: string;
  /** Converts a request to the spec of an instance. */
  toSpec(size: Size, request: SpecRequest): WarmSpec;
  telemetry: Telemetry;
}

interface Launched {
  instance: Instance;
  /** Whether it began as `otherwise`, without the checkpoint. */
  isOtherwise: boolean;
}

/** A warm agent responds at once or not at all. */
const WARM_ANSWER_MS = 2_000;

export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, runtime, live, expiry, ending, pausing, adopt, warm, placement } = options;
  const { clock, log, limits, secret } = options;
  const starting = new Set<string>();
  const inProgress = new Set<Promise<SandboxRow>>();
  const closing = new AbortController();
  /** By sandbox, the nodes that had no capacity for its start. */
  const exhausted = new Map<string, string[]>();
  const reserve = createReserve(options);

  const undo = async (id: string): Promise<void> => {
    try {
      if (await ending.begin(id, 'failed', { from: ['starting'] })) await ending.finish(id);
    } catch (error) {
      log.error('a failed start could not be undone and will be retried', { sandboxId: id, error });
    }
  };

  /** Reserves a place on another node for a sandbox whose node has no capacity. Resolves with false when there is none. */
  const moveOn = async ({ id, memoryMb }: NewSandbox, { node }: Origin): Promise<boolean> => {
    const full = (await store.findSandbox(id))?.node ?? null;
    if (full === null) return false;
    const tried = exhausted.get(id) ?? [];
    tried.push(full);
    exhausted.set(id, tried);
    const moved = await placement
      .reserve({ memoryMb, node, without: tried, staysHere: true }, async (place) =>
        place === undefined ? 'node_full' : store.movePlace(id, place),
      )
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'unavailable') return undefined;
        throw error;
      });
    return moved === 'moved';
  };

  /** The instance of a sandbox, with its agent set up: the warm instance if there is one, else a new one. */
  const launch = async (
    sandbox: NewSandbox,
    origin: Placed,
    onStep: (step: string) => void,
  ): Promise<Launched> => {
    const { waiting, otherwise } = origin;
    const setUp = (instance: Instance, within: AbortSignal): Promise<void> =>
      setUpAgent(instance, sandbox, { secret, clock, signal: within });
    if (waiting !== undefined) {
      try {
        await setUp(waiting, AbortSignal.timeout(WARM_ANSWER_MS));
        return { instance: waiting, isOtherwise: false };
      } catch (error) {
        log.warn('a warm sandbox does not respond', { sandboxId: sandbox.id, error });
        await waiting.stop();
      }
    }
    const { id } = sandbox;
    const begin = async ({ spec, commands }: Beginning) => {
      const extraMs = 'snapshot' in spec ? toMemoryExtraMs(sandbox.memoryMb) : 0;
      let signal = closing.signal;
      const create = async () => {
        await options.storedOrigins?.bring(id, spec, { signal: closing.signal });
        await placement.provide(id, spec);
        signal = AbortSignal.timeout(limits.startTimeoutMs + extraMs);
        return runtime.create({ id, hostname: id, ...spec }, { signal });
      };
      const tryElsewhere = async (error: unknown): Promise<Instance> => {
        if (!isRuntimeError(error, 'exhausted')) throw error;
        const { node = null } = (await store.findSandbox(id)) ?? {};
        if ((await warm.evict(node)) === 0 && !(await moveOn(sandbox, origin))) throw error;
        return create().catch(tryElsewhere);
      };
      const instance = await create().catch(tryElsewhere);
      return { instance, commands, signal };
    };
    const { checkpointNode = null } = origin;
    let isOtherwise =
      otherwise !== undefined &&
      checkpointNode !== null &&
      (await store.findSandbox(id))?.node !== checkpointNode;
    const first = isOtherwise && otherwise !== undefined ? otherwise : origin;
    const { instance, commands, signal } = await begin(first).catch((error: unknown) => {
      if (otherwise === undefined || isOtherwise || !isUnusable(error)) throw error;
      isOtherwise = true;
      log.warn('a template is started again, as its checkpoint cannot be used', { sandboxId: id, error });
      return begin(otherwise);
    });
    if (commands !== null) {
      onStep('run the start command');
      const left = origin.signal ? AbortSignal.any([closing.signal, origin.signal]) : closing.signal;
      const within = { secret, clock, agentTimeoutMs: limits.startTimeoutMs, signal: left };
      await startInNewSandbox(instance, { sandbox, commands }, within);
    }
    onStep('set up the agent');
    await setUp(instance, commands === null ? signal : AbortSignal.timeout(limits.startTimeoutMs));
    return { instance, isOtherwise };
  };

  const start = async (sandbox: NewSandbox, origin: Placed, timeoutMs: number): Promise<SandboxRow> => {
    let step = 'make the sandbox';
    try {
      const { instance, isOtherwise } = await launch(sandbox, origin, (next) => {
        step = next;
      });
      step = 'record the start';
      const startedAt = clock.now();
      const row = await store.changeState(sandbox.id, {
        from: ['starting'],
        to: 'running',
        set: {
          runId: instance.runId,
          startedAt,
          endAt: startedAt + timeoutMs,
          // What it did not begin with is not its parent.
          ...(isOtherwise && { snapshotId: null }),
        },
      });
      if (row === undefined) throw new Error('the row left the state "starting" meanwhile');
      adopt(row, instance);
      log.info('sandbox started', {
        sandboxId: row.id,
        templateId: row.templateId,
        tookMs: startedAt - row.createdAt,
        warm: instance === origin.waiting,
      });
      return row;
    } catch (error) {
      log.error('sandbox did not start', { sandboxId: sandbox.id, step, error });
      await undo(sandbox.id);
      throw toStartError(step, error);
    }
  };

  /** Reserves a place and starts the sandbox in it. */
  const admit = (wanted: Omit<NewSandbox, 'id'>, origin: Origin, timeoutMs: number): Promise<SandboxRow> => {
    const used = new Set<string>();
    const run = async (): Promise<SandboxRow> => {
      // Before there is a row: without it, a row in state "starting" would be taken for one of a killed server.
      const { reserved, sandbox, waiting } = await reserve(wanted, origin, (id) => {
        used.add(id);
        starting.add(id);
      });
      if (reserved === 'limit') throw limitReached(limits.maxSandboxes);
      // Deleted since the lookup.
      if (reserved === 'no_image') throw notFound(`the image of template "${wanted.templateId}" is gone`);
      if (reserved === 'no_snapshot')
        throw notFound(`the snapshot of template "${wanted.templateId}" is gone`);
      return start(sandbox, { ...origin, waiting }, timeoutMs);
    };
    const started = reportOperation('create', run, options).finally(() => {
      for (const id of used) {
        starting.delete(id);
        exhausted.delete(id);
      }
      inProgress.delete(started);
      warm.adjustSoon();
    });
    inProgress.add(started);
    return started;
  };

  return {
    create: async ({ template, snapshot, build, timeoutMs, envVars, signal, isForwarded, ...request }) => {
      const createdAt = clock.now();
      const size = snapshot ?? build ?? template;
      const checkpoint = build && snapshot === null ? await findCheckpoint(build, { store, runtime }) : null;
      const image = {
        spec: options.toSpec(size, { ...request, snapshot, build }),
        commands: toOwnCommands(build),
      };
      const restored = checkpoint && options.toSpec(size, { ...request, snapshot: checkpoint, build });
      const buildId = snapshot?.buildId ?? build?.id ?? null;
      const { env = {} } = build ?? (buildId === null ? undefined : await store.findBuild(buildId)) ?? {};
      // Only sandboxes that begin with an image are started in advance.
      const isPlain = snapshot === null && image.commands === null;
      const { cpuCount, memoryMb, diskMb } = size;
      const sandbox: Omit<NewSandbox, 'id'> = {
        templateId: template.id,
        templateName: template.name,
        snapshotId: (snapshot ?? checkpoint)?.id ?? null,
        buildId,
        // The creator's variables replace those of the image.
        envVars: { ...env, ...envVars },
        createdAt,
        endAt: createdAt + timeoutMs,
        ...request,
        cpuCount,
        memoryMb,
        diskMb,
      };
      const staysHere = isForwarded === true;
      const homeOf = (of: SnapshotRow) => options.storedOrigins?.homeOf(of, staysHere) ?? of.node;
      const node = snapshot && (await homeOf(snapshot));
      const checkpointNode = checkpoint && (await homeOf(checkpoint));
      const given = { mayBeWarm: isPlain, node, signal, staysHere };
      const origin = restored
        ? { ...given, spec: restored, commands: null, otherwise: image, checkpointNode }
        : { ...given, ...image };
      return admit(sandbox, origin, timeoutMs);
    },
    fork: (source, { id: captured, timeoutMs }) => {
      const createdAt = clock.now();
      const { network, cpuCount, memoryMb, diskMb } = source;
      const spec = options.toSpec(source, { network, snapshot: { id: captured }, build: null });
      const { templateId, templateName, snapshotId, buildId, metadata, envVars, secure, autoPause } = source;
      const sandbox: Omit<NewSandbox, 'id'> = {
        ...{
          templateId,
          templateName,
          snapshotId,
          buildId,
          metadata,
          envVars,
          secure,
          network,
          autoPause,
        },
        createdAt,
        endAt: createdAt + timeoutMs,
        ...{ cpuCount, memoryMb, diskMb },
      };
      const origin = { spec, commands: null, mayBeWarm: false, node: source.node, staysHere: true };
      return admit(sandbox, origin, timeoutMs);
    },
    get: async (id) => {
      const row = await store.findSandbox(id);
      if (row === undefined || !isAlive(row.state)) throw toMissingError(id, row, clock);
      return row;
    },
    kill: async (id) => {
      const row = await ending.begin(id, 'killed', { from: ['running', ...PAUSED_STATES] });
      const finished = row === undefined ? ending.current(id) : ending.finish(id);
      if (finished === undefined) throw await explainMissing({ store, clock }, id);
      await finished;
    },
    isStarting: (id) => starting.has(id),
    underWay: () => [...starting],
    expire: async (id) => {
      const { autoPause = null } = (await store.findSandbox(id)) ?? {};
      if (autoPause !== null) {
        await pausing.pauseAtEnd(id, autoPause);
        return;
      }
      if (await ending.begin(id, 'expired', { from: ['running'], endAtMost: clock.now() })) {
        await ending.finish(id);
        return;
      }
      const moved = await store.findSandbox(id);
      if (moved?.state === 'running' && live.has(id)) expiry.schedule(id, moved.endAt);
    },
    settled: async () => {
      closing.abort(shuttingDown());
      await Promise.allSettled(inProgress);
    },
  };
};

/** Whether a checkpoint is of no use on this host, as after a change of its kernel or of the level, or cannot be brought there. */
const isUnusable = (error: unknown): boolean =>
  (error instanceof ApiError && error.code === 'unavailable') ||
  (['unsupported', 'damaged', 'not_found', 'internal'] as const).some((code) => isRuntimeError(error, code));

const shuttingDown = (): ApiError =>
  new ApiError('unavailable', 'the server is shutting down', { reason: 'server_shutting_down' });
