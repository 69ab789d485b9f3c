import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import {
  type NewSandbox,
  PAUSED_STATES,
  type PauseKind,
  type SandboxRow,
  type Store,
  type TemplateRow,
} from '../store/store.ts';
import type { Adopt } from './adopt.ts';
import type { Ending } from './ending.ts';
import type { Expiry } from './expiry.ts';
import { limitReached } from './limit-reached.ts';
import type { Live } from './live.ts';
import type { Pausing } from './pausing.ts';
import { isAlive, notRunning } from './running.ts';
import { setUpAgent } from './set-up-agent.ts';
import { toStartError } from './start-error.ts';

export interface CreateRequest {
  template: TemplateRow;
  timeoutMs: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  secure: boolean;
  /** Null: the creator did not say; then there is internet. */
  allowInternet: boolean | null;
  /** What to keep at the end of its time; null: it is killed then. */
  autoPause: PauseKind | null;
}

/** From the request for a sandbox to its end. */
export interface Lifecycle {
  /**
   * Resolves when the sandbox is usable: its agent has variables, token and default user. When it rejects, nothing of it is
   * left or what is left is on its way out.
   */
  create(request: CreateRequest): Promise<SandboxRow>;
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
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
  secret: string;
  /** Absolute path of the unpacked image of a template. */
  rootfsOf(template: TemplateRow): string;
}

export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, runtime, live, expiry, ending, pausing, adopt, clock, ids, log, limits, secret } = options;
  const starting = new Map<string, Promise<SandboxRow>>();

  const undo = async (id: string): Promise<void> => {
    try {
      if (await ending.begin(id, 'failed', { from: ['starting'] })) await ending.finish(id);
    } catch (error) {
      log.error('a failed start could not be undone and is tried again', { sandboxId: id, error });
    }
  };

  const start = async (
    sandbox: NewSandbox,
    template: TemplateRow,
    timeoutMs: number,
  ): Promise<SandboxRow> => {
    const signal = AbortSignal.timeout(limits.startTimeoutMs);
    let step = 'make the sandbox';
    try {
      const instance = await runtime.create(
        {
          id: sandbox.id,
          rootfs: options.rootfsOf(template),
          hostname: 'skerry',
          limits: {
            cpuCount: sandbox.cpuCount,
            memoryBytes: sandbox.memoryMb * 2 ** 20,
            diskBytes: sandbox.diskMb * 2 ** 20,
            processCount: limits.processCount,
          },
          network: { internet: sandbox.allowInternet ?? true },
        },
        { signal },
      );
      step = 'set up the agent';
      await setUpAgent(instance, sandbox, { secret, clock, signal });
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
      });
      return row;
    } catch (error) {
      log.error('sandbox did not start', { sandboxId: sandbox.id, step, error });
      await undo(sandbox.id);
      throw toStartError(step, error);
    }
  };

  return {
    create: async ({ template, timeoutMs, ...request }) => {
      const createdAt = clock.now();
      const sandbox: NewSandbox = {
        id: ids.sandboxId(),
        templateId: template.id,
        templateName: template.name,
        createdAt,
        endAt: createdAt + timeoutMs,
        ...request,
        cpuCount: template.cpuCount,
        memoryMb: template.memoryMb,
        diskMb: template.diskMb,
      };
      const run = async (): Promise<SandboxRow> => {
        if (!(await store.reserveSandbox(sandbox, { maxActive: limits.maxSandboxes }))) {
          throw limitReached(limits.maxSandboxes);
        }
        return start(sandbox, template, timeoutMs);
      };
      const started = run().finally(() => starting.delete(sandbox.id));
      starting.set(sandbox.id, started);
      return started;
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
