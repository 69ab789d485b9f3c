import { isUnavailable } from '@skerry/contract/error';
import { type Instance, isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../../clock.ts';
import type { Host, Hosts } from '../../hosts/hosts.ts';
import { type Limits, toMemoryExtraMs } from '../../limits.ts';
import type { Log } from '../../log.ts';
import type { NewSandbox } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import type { WarmSpec } from '../../warm/warm-pool.ts';
import type { WarmPools } from '../../warm/warm-pools.ts';
import { setUpAgent } from '../agent.ts';
import type { Beginning, Origin, Reserved } from './reserve.ts';
import { startInNewSandbox } from './start-in-new-sandbox.ts';

export interface Launched {
  instance: Instance;
  /** Whether it began as `otherwise`, without the checkpoint. */
  isOtherwise: boolean;
}

/**
 * Makes the instance of a sandbox that has a place, and sets up its agent: the warm instance if there is one, else a new one. A sandbox whose
 * host has no capacity moves to another one. Rejects as the runtime, the start command and the agent do; what was made is then left to
 * the caller.
 */
export type Launch = (
  reserved: Reserved,
  origin: Origin,
  onStep: (step: string) => void,
) => Promise<Launched>;

export interface LaunchOptions {
  store: Pick<Store, 'movePlace'>;
  hosts: Pick<Hosts, 'reserve'>;
  warm: Pick<WarmPools, 'evict'>;
  clock: Clock;
  log: Log;
  limits: Limits;
  secret: string;
  /** Ends waits for copies of files and for start commands. */
  closing: AbortSignal;
}

/** Where a sandbox is being started. */
interface Seat {
  host: Host;
  readonly sandbox: NewSandbox;
  readonly origin: Origin;
  /** The nodes that had no capacity for it. */
  readonly full: (string | null)[];
}

/** A new instance, and how long it may still take to set it up. */
interface Made {
  instance: Instance;
  signal: AbortSignal;
}

/** A warm agent responds at once or not at all. */
const WARM_ANSWER_MS = 2_000;

export const createLaunch = (options: LaunchOptions): Launch => {
  const { store, hosts, warm, clock, log, limits, secret, closing } = options;

  const setUp = (instance: Instance, sandbox: NewSandbox, signal: AbortSignal): Promise<void> =>
    setUpAgent(instance, sandbox, { secret, clock, signal });

  /** Undefined when it does not respond; it is gone then, and its id is free. */
  const useWaiting = async ({ waiting, sandbox }: Reserved): Promise<Instance | undefined> => {
    if (waiting === undefined) return undefined;
    try {
      await setUp(waiting, sandbox, AbortSignal.timeout(WARM_ANSWER_MS));
      return waiting;
    } catch (error) {
      log.warn('a warm sandbox does not respond', { sandboxId: sandbox.id, error });
      await waiting.stop();
      return undefined;
    }
  };

  /** Reserves a place on another host for a sandbox whose host has no capacity. Resolves with false when there is none. */
  const moveOn = async (seat: Seat): Promise<boolean> => {
    const { id, memoryMb, isolation } = seat.sandbox;
    seat.full.push(seat.host.node);
    const need = { memoryMb, isolation, node: seat.origin.node, without: seat.full, staysHere: true };
    const attempt = async (host: Host) => {
      const place = host.room();
      const outcome = place === undefined ? 'node_full' : await store.movePlace(id, place);
      return outcome === 'node_full' ? outcome : { host, outcome };
    };
    const moved = await hosts.reserve(need, attempt).catch((error: unknown) => {
      if (isUnavailable(error)) return undefined;
      throw error;
    });
    if (moved?.outcome !== 'moved') return false;
    seat.host = moved.host;
    return true;
  };

  const makeHere = async ({ host, sandbox }: Seat, spec: WarmSpec): Promise<Made> => {
    const { id, memoryMb } = sandbox;
    const prepared = await host.prepare(spec, { signal: closing });
    const extraMs = 'snapshot' in spec ? toMemoryExtraMs(memoryMb) : 0;
    const signal = AbortSignal.timeout(limits.startTimeoutMs + extraMs);
    return { instance: await host.runtime.create({ id, hostname: id, ...prepared }, { signal }), signal };
  };

  /** Makes the instance on the first host that has capacity. */
  const make = async (seat: Seat, spec: WarmSpec): Promise<Made> => {
    for (;;) {
      try {
        return await makeHere(seat, spec);
      } catch (error) {
        if (!isRuntimeError(error, 'exhausted')) throw error;
        const isFree = (await warm.evict(seat.host.node)) > 0 || (await moveOn(seat));
        if (!isFree) throw error;
      }
    }
  };

  /** Makes the instance with the checkpoint of its template, or without it where this host cannot use it. */
  const begin = async (seat: Seat): Promise<{ made: Made; from: Beginning }> => {
    const { otherwise, checkpointNode = null, ...origin } = seat.origin;
    if (otherwise === undefined) return { made: await make(seat, origin.spec), from: origin };
    const isElsewhere = checkpointNode !== null && seat.host.node !== checkpointNode;
    if (!isElsewhere) {
      try {
        return { made: await make(seat, origin.spec), from: origin };
      } catch (error) {
        if (!isUnusable(error)) throw error;
        const sandboxId = seat.sandbox.id;
        log.warn('a template is started again, as its checkpoint cannot be used', { sandboxId, error });
      }
    }
    return { made: await make(seat, otherwise.spec), from: otherwise };
  };

  const runCommands = async (
    instance: Instance,
    { sandbox, origin }: Seat,
    commands: NonNullable<Beginning['commands']>,
  ): Promise<void> => {
    const signal = origin.signal ? AbortSignal.any([closing, origin.signal]) : closing;
    const within = { secret, clock, agentTimeoutMs: limits.startTimeoutMs, signal };
    await startInNewSandbox(instance, { sandbox, commands }, within);
  };

  return async (reserved, origin, onStep) => {
    const { host, sandbox } = reserved;
    const waiting = await useWaiting(reserved);
    if (waiting !== undefined) return { instance: waiting, isOtherwise: false };
    const seat: Seat = { host, sandbox, origin, full: [] };
    const { made, from } = await begin(seat);
    const { instance } = made;
    if (from.commands !== null) {
      onStep('run the start command');
      await runCommands(instance, seat, from.commands);
    }
    onStep('set up the agent');
    await setUp(
      instance,
      sandbox,
      from.commands === null ? made.signal : AbortSignal.timeout(limits.startTimeoutMs),
    );
    return { instance, isOtherwise: from === origin.otherwise };
  };
};

/**
 * Whether a host cannot use a checkpoint, as after a change of its kernel or of the level, or cannot get it
 * from the blob store.
 */
const isUnusable = (error: unknown): boolean =>
  isUnavailable(error) ||
  (['unsupported', 'damaged', 'not_found', 'internal'] as const).some((code) => isRuntimeError(error, code));
