import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Instance, InstanceOrigin, InstanceSettings, NetworkPolicy } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import { findInstance } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { BuildRow } from '../store/build-rows.ts';
import type { SnapshotRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** What a new instance begins with, and its network. */
export interface SpecRequest {
  isolation: IsolationLevel;
  /** Null: open. */
  network: NetworkPolicy | null;
  snapshot: Pick<SnapshotRow, 'id'> | null;
  /** The build whose image is used; null: the image of the installation. */
  build: Pick<BuildRow, 'image'> | null;
}

/** The properties that make two instances interchangeable until one of them has an owner. */
export type WarmSpec = Omit<InstanceSettings, 'id' | 'hostname'> &
  InstanceOrigin & { isolation: IsolationLevel };

/**
 * Instances of one place that run before a request for them: their agents wait, and they contain nothing of a sandbox yet. The
 * number of each kind follows the demand of the last minute, between `warmMin` and `warmMax`.
 */
export interface WarmPool {
  /**
   * Counts a request for this kind, and returns a ready instance if there is one. The caller owns it, and calls
   * `adjustSoon` after.
   */
  claim(spec: WarmSpec): Instance | undefined;
  /** Whether an instance of this kind waits. */
  has(spec: WarmSpec): boolean;
  /** Returns an instance that was claimed and not used. */
  giveBack(spec: WarmSpec, instance: Instance): void;
  /** Stops all warm instances, so that the host has room. Resolves with their number. */
  evict(): Promise<number>;
  /**
   * Adopts the instances of an earlier process at the same level; `warmMin` applies to this kind. Call `adjust` then. Rejects when the
   * place does not answer.
   */
  start(base: WarmSpec): Promise<void>;
  /** Adjusts every kind to its demand. Resolves when it is done. */
  adjust(): Promise<void>;
  /**
   * Adjusts every kind a moment later: the caller of a create uses its sandbox now, and needs the processor
   * for that.
   */
  adjustSoon(): void;
  /** Stops refilling and waits for a start in progress. Warm instances live on for the next process, or for another server. */
  close(): Promise<void>;
}

export interface WarmPoolOptions {
  store: Pick<Store, 'addWarm' | 'removeWarm' | 'listWarm'>;
  /** The node of the pool; null: this machine. */
  node: string | null;
  hosts: Pick<Hosts, 'of' | 'features' | 'warmRoomOf'>;
  ids: Pick<Ids, 'sandboxId'>;
  clock: Pick<Clock, 'now'>;
  log: Log;
  limits: Pick<Limits, 'warmMin' | 'warmMax' | 'startTimeoutMs'>;
  telemetry: Pick<Telemetry, 'onWarmClaim'>;
}

const DEMAND_WINDOW_MS = 60_000;
/**
 * The first command of a sandbox that was just created has finished after this time. Never postponed: also a
 * stream of requests refills.
 */
const ADJUST_DELAY_MS = 200;

interface Waiting {
  readonly instance: Instance;
  readonly unsubscribe: () => void;
}

interface Kind {
  readonly spec: WarmSpec;
  /** The oldest first. */
  readonly ready: Waiting[];
  /** The times of recent requests, the oldest first. */
  readonly wishes: number[];
}

export const createWarmPool = (options: WarmPoolOptions): WarmPool => {
  const { store, hosts, ids, clock, log, limits, telemetry } = options;
  const { node } = options;
  const room = () => hosts.warmRoomOf(node);
  const kinds = new Map<string, Kind>();
  let baseKey: string | undefined;
  let closed = false;
  let filling = Promise.resolve();
  let soon: NodeJS.Timeout | undefined;

  const kindOf = (spec: WarmSpec): Kind => {
    const key = toKey(spec);
    const known = kinds.get(key) ?? { spec, ready: [], wishes: [] };
    kinds.set(key, known);
    return known;
  };

  const target = (kind: Kind): number => {
    const since = clock.now() - DEMAND_WINDOW_MS;
    while (kind.wishes[0] !== undefined && kind.wishes[0] <= since) kind.wishes.shift();
    const least = toKey(kind.spec) === baseKey ? limits.warmMin : 0;
    return Math.min(limits.warmMax, Math.max(least, kind.wishes.length));
  };

  const discard = async (instance: Instance): Promise<void> => {
    try {
      await instance.stop();
      await store.removeWarm(instance.id);
    } catch (error) {
      // The record stays, so the next process tries again.
      log.error('a warm instance could not be stopped', { instanceId: instance.id, error });
    }
  };

  const keep = (kind: Kind, instance: Instance): void => {
    const unsubscribe = instance.onExit(() => {
      kind.ready.splice(
        kind.ready.findIndex((waiting) => waiting.instance === instance),
        1,
      );
      log.warn('a warm instance ended by itself', { instanceId: instance.id });
      void discard(instance);
    });
    kind.ready.push({ instance, unsubscribe });
  };

  const take = (kind: Kind): Instance | undefined => {
    const waiting = kind.ready.shift();
    waiting?.unsubscribe();
    return waiting?.instance;
  };

  const make = async (kind: Kind): Promise<void> => {
    const id = ids.sandboxId();
    await store.addWarm({ id, spec: JSON.stringify(kind.spec), createdAt: clock.now(), node });
    try {
      const host = hosts.of(node);
      const spec = await host.prepare(kind.spec);
      const signal = AbortSignal.timeout(limits.startTimeoutMs);
      const instance = await host.runtime.create({ id, hostname: id, ...spec }, { signal });
      if (!closed) keep(kind, instance);
    } catch (error) {
      await store.removeWarm(id);
      throw error;
    }
  };

  const adjustKind = async (key: string, kind: Kind): Promise<void> => {
    while (!closed && kind.ready.length < target(kind) && room() === 'free') await make(kind);
    const isShort = () => room() === 'short';
    while (kind.ready.length > 0 && room() !== 'unknown' && (kind.ready.length > target(kind) || isShort())) {
      const surplus = take(kind);
      if (surplus !== undefined) await discard(surplus);
    }
    if (kind.ready.length === 0 && target(kind) === 0) kinds.delete(key);
  };

  const adjust = (): Promise<void> => {
    filling = filling.then(async () => {
      try {
        // One after another: a start in advance must not delay a start that a caller waits for.
        for (const [key, kind] of kinds) if (!closed) await adjustKind(key, kind);
      } catch (error) {
        log.warn('no sandbox could be started in advance; the next request retries', { error });
      }
    });
    return filling;
  };

  return {
    claim: (spec) => {
      if (limits.warmMax === 0) return undefined;
      const kind = kindOf(spec);
      kind.wishes.push(clock.now());
      // More requests than the maximum change nothing.
      if (kind.wishes.length > limits.warmMax) kind.wishes.shift();
      const waiting = take(kind);
      telemetry.onWarmClaim(waiting !== undefined);
      return waiting;
    },
    has: (spec) => (kinds.get(toKey(spec))?.ready.length ?? 0) > 0,
    giveBack: (spec, instance) => keep(kindOf(spec), instance),
    evict: async () => {
      const given: Promise<void>[] = [];
      for (const kind of kinds.values()) {
        for (let next = take(kind); next !== undefined; next = take(kind)) given.push(discard(next));
      }
      await Promise.all(given);
      return given.length;
    },
    start: async (base) => {
      baseKey = toKey(base);
      const { level } = hosts.features;
      for (const row of (await store.listWarm()).filter((one) => one.node === node)) {
        const instance = await findInstance(hosts, row);
        const spec = JSON.parse(row.spec) as WarmSpec;
        if (instance === undefined) await store.removeWarm(row.id);
        // Callers of this server rely on the isolation level that it starts sandboxes at.
        else if (spec.isolation !== level || (await instance.state()) !== 'running') await discard(instance);
        else keep(kindOf(spec), instance);
      }
      kindOf(base);
    },
    adjust,
    adjustSoon: () => {
      if (closed) return;
      soon ??= setTimeout(() => {
        soon = undefined;
        void adjust();
      }, ADJUST_DELAY_MS);
    },
    close: async () => {
      closed = true;
      clearTimeout(soon);
      for (const { ready } of kinds.values()) for (const { unsubscribe } of ready.splice(0)) unsubscribe();
      await filling;
    },
  };
};

/** Equal for interchangeable instances: one function writes all specs, so their fields have one order. */
const toKey = (spec: WarmSpec): string => JSON.stringify(spec);
