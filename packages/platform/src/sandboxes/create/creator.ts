import { ApiError } from '@skerry/contract/error';
import type { Clock } from '../../clock.ts';
import type { Hosts } from '../../hosts/hosts.ts';
import type { Ids } from '../../ids.ts';
import type { Limits } from '../../limits.ts';
import type { Log } from '../../log.ts';
import type { SandboxRow } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import { reportOperation } from '../../telemetry/report-operation.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { WarmPools } from '../../warm/warm-pools.ts';
import type { Adopt } from '../adopt.ts';
import { toStartError } from '../start-error.ts';
import type { Terminator } from '../terminator.ts';
import { createLaunch, type Launched } from './launch.ts';
import {
  type Captured,
  type CreateRequest,
  type Planned,
  planCreate,
  planFork,
  type ToSpec,
} from './origins.ts';
import { createReserve, type Reserved } from './reserve.ts';

/** Creates sandboxes. */
export interface Creator {
  /**
   * Resolves when the sandbox is usable: its agent has variables, token and default user. When it rejects, everything
   * of the sandbox is removed, or its removal is in progress. Rejects with the reason of the signal when that ends the
   * wait for the start command.
   */
  create(request: CreateRequest): Promise<SandboxRow>;
  /** Creates a sandbox from a capture of another; all but id, token, key and time is copied. */
  fork(source: SandboxRow, captured: Captured): Promise<SandboxRow>;
  /** Whether this process is starting it now. */
  isStarting(id: string): boolean;
  /** The sandboxes that this process is starting. */
  underWay(): string[];
  /** Resolves when no start is in progress. Those that wait for the start command of their template fail. */
  settled(): Promise<void>;
}

export interface CreatorOptions {
  store: Store;
  hosts: Hosts;
  terminator: Terminator;
  adopt: Adopt;
  warm: Pick<WarmPools, 'claim' | 'nodesWith' | 'giveBack' | 'evict' | 'adjustSoon'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
  secret: string;
  toSpec: ToSpec;
  telemetry: Telemetry;
}

export const createCreator = (options: CreatorOptions): Creator => {
  const { store, terminator, adopt, warm, toSpec, clock, log } = options;
  const starting = new Set<string>();
  const inProgress = new Set<Promise<SandboxRow>>();
  const closing = new AbortController();
  const reserve = createReserve(options);
  const launch = createLaunch({ ...options, closing: closing.signal });

  const undo = async (id: string): Promise<void> => {
    try {
      const begun = await terminator.begin(id, 'failed', { from: ['starting'] });
      if (begun !== undefined) await terminator.finish(begun);
    } catch (error) {
      log.error('a failed start could not be undone and will be retried', { sandboxId: id, error });
    }
  };

  const record = async (
    { id }: Reserved['sandbox'],
    { instance, isOtherwise }: Launched,
    timeoutMs: number,
  ): Promise<SandboxRow> => {
    const startedAt = clock.now();
    const row = await store.changeState(id, {
      from: ['starting'],
      to: 'running',
      set: {
        runId: instance.runId,
        isolation: instance.isolation,
        startedAt,
        endAt: startedAt + timeoutMs,
        // What it did not begin with is not its parent.
        ...(isOtherwise && { snapshotId: null }),
      },
    });
    if (row === undefined) throw new Error('the row left the state "starting" meanwhile');
    return row;
  };

  const start = async (reserved: Reserved, { origin }: Planned, timeoutMs: number): Promise<SandboxRow> => {
    const { sandbox, waiting } = reserved;
    let step = 'make the sandbox';
    try {
      const launched = await launch(reserved, origin, (next) => {
        step = next;
      });
      step = 'record the start';
      const row = await record(sandbox, launched, timeoutMs);
      const { instance } = launched;
      adopt(row, instance);
      log.info('sandbox started', {
        sandboxId: row.id,
        templateId: row.templateId,
        tookMs: row.startedAt - row.createdAt,
        warm: instance === waiting,
      });
      return row;
    } catch (error) {
      log.error('sandbox did not start', { sandboxId: sandbox.id, step, error });
      await undo(sandbox.id);
      throw toStartError(step, error);
    }
  };

  /** Reserves a place and starts the sandbox in it. */
  const admit = (planned: Planned, timeoutMs: number): Promise<SandboxRow> => {
    const used = new Set<string>();
    const run = async (): Promise<SandboxRow> => {
      // Before there is a row: without it, a row in state "starting" would be taken for one of a killed server.
      const reserved = await reserve(planned.wanted, planned.origin, (id) => {
        used.add(id);
        starting.add(id);
      });
      return start(reserved, planned, timeoutMs);
    };
    const started = reportOperation('create', run, options).finally(() => {
      for (const id of used) starting.delete(id);
      inProgress.delete(started);
      warm.adjustSoon();
    });
    inProgress.add(started);
    return started;
  };

  return {
    create: async (request) =>
      admit(await planCreate(request, { ...options, createdAt: clock.now() }), request.timeoutMs),
    fork: (source, captured) =>
      admit(planFork(source, { ...captured, createdAt: clock.now() }, toSpec), captured.timeoutMs),
    isStarting: (id) => starting.has(id),
    underWay: () => [...starting],
    settled: async () => {
      closing.abort(shuttingDown());
      await Promise.allSettled(inProgress);
    },
  };
};

const shuttingDown = (): ApiError =>
  new ApiError('unavailable', 'the server is shutting down', { reason: 'server_shutting_down' });
