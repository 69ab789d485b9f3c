import { notFound } from '@skerry/contract/error';
import { type Instance, isRuntimeError, type Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import {
  type NewSandbox,
  PAUSED_STATES,
  type PauseKind,
  type SandboxReservation,
  type SandboxRow,
  type SnapshotRow,
  type Store,
  type TemplateRow,
} from '../store/store.ts';
import type { Adopt } from './adopt.ts';
import { setUpAgent } from './agent.ts';
import type { Ending } from './ending.ts';
import type { Expiry } from './expiry.ts';
import type { Live } from './live.ts';
import { toMemoryExtraMs } from './memory-start-timeout.ts';
import type { Pausing } from './pausing.ts';
import { isAlive, notRunning } from './running.ts';
import { limitReached, toStartError } from './start-error.ts';
import type { WarmPool, WarmSpec } from './warm-pool.ts';

export interface CreateRequest {
  template: TemplateRow;
  /** What it begins with; null: the image of the template. */
  snapshot: SnapshotRow | null;
  timeoutMs: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  secure: boolean;
  /** Null: the creator did not say; then there is internet. */
  allowInternet: boolean | null;
  /** What to keep at the end of its time; null: it is killed then. */
  autoPause: PauseKind | null;
}

/** What a sandbox may use. */
export type Size = Pick<Limits, 'cpuCount' | 'memoryMb' | 'diskMb'>;

/** From the request for a sandbox to its end. */
export interface Lifecycle {
  /**
   * Resolves when the sandbox is usable: its agent has variables, token and default user. When it rejects, nothing of it is
   * left or what is left is on its way out.
   */
  create(request: CreateRequest): Promise<SandboxRow>;
  /** As `create`, of what was captured of a sandbox with its processes; all but id, token and time is that one's. */
  fork(source: SandboxRow, captured: { id: string; timeoutMs: number }): Promise<SandboxRow>;
  /** Rejects with `not_found` unless it is running or paused. */
  get(id: string): Promise<SandboxRow>;
  /** Resolves when it is stopped; two at once both succeed. Rejects with `not_found` unless it is running or paused. */
  kill(id: string): Promise<void>;
  /** Whether this process is starting it now. */
  isStarting(id: string): boolean;
  /** Acts on an end that was announced: kills or pauses the sandbox unless its end was moved meanwhile. */
  expire(id: string): Promise<void>;
  /** Resolves when no start is under way. */
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
  warm: Pick<WarmPool, 'claim' | 'giveBack' | 'evict' | 'adjustSoon'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
  secret: string;
  /** What the runtime makes of a request. */
  toSpec(
    size: Size,
    request: { allowInternet: boolean | null; snapshot: Pick<SnapshotRow, 'id'> | null },
  ): WarmSpec;
}

/** Where a sandbox comes from: an instance that waits for an owner, or nothing but the way to make one. */
interface Origin {
  spec: WarmSpec;
  waiting: Instance | undefined;
}

/** An agent that waits answers at once or not at all. */
const WARM_ANSWER_MS = 2_000;

export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, runtime, live, expiry, ending, pausing, adopt, warm, clock, ids, log, limits, secret } =
    options;
  const starting = new Map<string, Promise<SandboxRow>>();

  const undo = async (id: string): Promise<void> => {
    try {
      if (await ending.begin(id, 'failed', { from: ['starting'] })) await ending.finish(id);
    } catch (error) {
      log.error('a failed start could not be undone and is tried again', { sandboxId: id, error });
    }
  };

  /** The instance of a sandbox, with its agent set up: the one that waits for it, else a new one. */
  const launch = async (sandbox: NewSandbox, { spec, waiting }: Origin, onStep: (step: string) => void) => {
    const extraMs = 'snapshot' in spec ? toMemoryExtraMs(sandbox.memoryMb) : 0;
    const signal = AbortSignal.timeout(limits.startTimeoutMs + extraMs);
    const setUp = (instance: Instance, within = signal): Promise<void> =>
      setUpAgent(instance, sandbox, { secret, clock, signal: within });
    if (waiting !== undefined) {
      try {
        await setUp(waiting, AbortSignal.timeout(WARM_ANSWER_MS));
        return waiting;
      } catch (error) {
        log.warn('a sandbox that was started ahead does not answer', { sandboxId: sandbox.id, error });
        await waiting.stop();
      }
    }
    const { id } = sandbox;
    const create = () => runtime.create({ id, hostname: id, ...spec }, { signal });
    const instance = await create().catch(async (error: unknown) => {
      if (!isRuntimeError(error, 'exhausted') || (await warm.evict()) === 0) throw error;
      return create();
    });
    onStep('set up the agent');
    await setUp(instance);
    return instance;
  };

  const start = async (sandbox: NewSandbox, origin: Origin, timeoutMs: number): Promise<SandboxRow> => {
    let step = 'make the sandbox';
    try {
      const instance = await launch(sandbox, origin, (next) => {
        step = next;
      });
      step = 'record the start';
      const startedAt = clock.now();
      const row = await store.changeState(sandbox.id, {
        from: ['starting'],
        to: 'running',
        set: { runId: instance.runId, startedAt, endAt: startedAt + timeoutMs },
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

  /** Takes a place and starts the sandbox in it. */
  const admit = (sandbox: NewSandbox, origin: Origin, timeoutMs: number): Promise<SandboxRow> => {
    const run = async (): Promise<SandboxRow> => {
      const { spec, waiting } = origin;
      let reserved: SandboxReservation | undefined;
      try {
        reserved = await store.reserveSandbox(sandbox, { maxActive: limits.maxSandboxes });
      } finally {
        if (reserved !== 'reserved' && waiting !== undefined) warm.giveBack(spec, waiting);
      }
      if (reserved === 'limit') throw limitReached(limits.maxSandboxes);
      // Deleted between the look and now.
      if (reserved === 'no_snapshot')
        throw notFound(`the snapshot of template "${sandbox.templateId}" is gone`);
      return start(sandbox, origin, timeoutMs);
    };
    const started = run().finally(() => {
      starting.delete(sandbox.id);
      warm.adjustSoon();
    });
    starting.set(sandbox.id, started);
    return started;
  };

  return {
    create: async ({ template, snapshot, timeoutMs, ...request }) => {
      const createdAt = clock.now();
      const spec = options.toSpec(snapshot ?? template, { ...request, snapshot });
      // Only what begins with an image is started ahead.
      const waiting = snapshot === null ? warm.claim(spec) : undefined;
      const { cpuCount, memoryMb, diskMb } = snapshot ?? template;
      const sandbox: NewSandbox = {
        id: waiting?.id ?? ids.sandboxId(),
        templateId: template.id,
        templateName: template.name,
        snapshotId: snapshot?.id ?? null,
        createdAt,
        endAt: createdAt + timeoutMs,
        ...request,
        cpuCount,
        memoryMb,
        diskMb,
      };
      return admit(sandbox, { spec, waiting }, timeoutMs);
    },
    fork: (source, { id: captured, timeoutMs }) => {
      const createdAt = clock.now();
      const { allowInternet, cpuCount, memoryMb, diskMb } = source;
      const spec = options.toSpec(source, { allowInternet, snapshot: { id: captured } });
      const { templateId, templateName, snapshotId, metadata, envVars, secure, autoPause } = source;
      const sandbox: NewSandbox = {
        id: ids.sandboxId(),
        ...{ templateId, templateName, snapshotId, metadata, envVars, secure, allowInternet, autoPause },
        createdAt,
        endAt: createdAt + timeoutMs,
        ...{ cpuCount, memoryMb, diskMb },
      };
      return admit(sandbox, { spec, waiting: undefined }, timeoutMs);
    },
    get: async (id) => {
      const row = await store.findSandbox(id);
      if (row === undefined || !isAlive(row.state)) throw notRunning(id);
      return row;
    },
    kill: async (id) => {
      const row = await ending.begin(id, 'killed', { from: ['running', ...PAUSED_STATES] });
      const finished = row === undefined ? ending.current(id) : ending.finish(id);
      if (finished === undefined) throw notRunning(id);
      await finished;
    },
    isStarting: (id) => starting.has(id),
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
      await Promise.allSettled(starting.values());
    },
  };
};
