import type { Instance } from '@skerry/runtime';
import type { Hosts } from '../hosts/hosts.ts';
import { createWarmPool, type WarmPool, type WarmPoolOptions, type WarmSpec } from './warm-pool.ts';

/** The warm pools of all places: one of this host, or one of each node for which this server acts. */
export interface WarmPools {
  /** Calls `WarmPool.claim` of the pool on that node; null: this machine. */
  claim(spec: WarmSpec, node: string | null): Instance | undefined;
  /** The nodes on which an instance of that kind waits. */
  nodesWith(spec: WarmSpec): string[];
  /** Returns an instance that was claimed there and not used. */
  giveBack(spec: WarmSpec, node: string | null, instance: Instance): void;
  /** Stops all warm instances of a place, so that it has room. Resolves with their number. */
  evict(node: string | null): Promise<number>;
  /**
   * Sets the kind to which `warmMin` applies, at the default level when a pool opens, and opens the pools of the hosts that answer
   * now.
   */
  start(base: WarmSpec): Promise<void>;
  /** Opens the pool of a node, or goes on with it. Rejects when the node does not answer; it is called again then. */
  open(node: string): Promise<void>;
  /** Forgets what waits on a node, for which another server acts now, or which does not exist any more. */
  leave(node: string): void;
  adjust(): Promise<void>;
  adjustSoon(): void;
  /** Calls `WarmPool.close` of all pools. */
  close(): Promise<void>;
}

export interface WarmPoolsOptions extends Omit<WarmPoolOptions, 'node'> {
  hosts: WarmPoolOptions['hosts'] & Pick<Hosts, 'reachable'>;
}

export const createWarmPools = (options: WarmPoolsOptions): WarmPools => {
  const pools = new Map<string | null, WarmPool>();
  const leaving = new Set<Promise<void>>();
  let base: WarmSpec | undefined;

  const add = async (node: string | null): Promise<void> => {
    if (base === undefined || pools.has(node)) return;
    const pool = createWarmPool({ ...options, node });
    pools.set(node, pool);
    // The default of a fleet is known when its nodes have answered.
    await pool.start({ ...base, isolation: options.hosts.features.level }).catch(async (error: unknown) => {
      if (pools.get(node) === pool) pools.delete(node);
      await pool.close();
      throw error;
    });
  };

  return {
    claim: (spec, node) => pools.get(node)?.claim(spec),
    nodesWith: (spec) =>
      [...pools].flatMap(([node, pool]) => (node !== null && pool.has(spec) ? [node] : [])),
    giveBack: (spec, node, instance) => pools.get(node)?.giveBack(spec, instance),
    evict: async (node) => (await pools.get(node)?.evict()) ?? 0,
    start: async (spec) => {
      base = spec;
      await Promise.all(options.hosts.reachable().map(({ node }) => add(node)));
      for (const pool of pools.values()) void pool.adjust();
    },
    open: async (node) => {
      await add(node);
      pools.get(node)?.adjustSoon();
    },
    leave: (node) => {
      const left = pools
        .get(node)
        ?.close()
        .finally(() => leaving.delete(left as Promise<void>));
      pools.delete(node);
      if (left) leaving.add(left);
    },
    adjust: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.adjust()));
    },
    adjustSoon: () => {
      for (const pool of pools.values()) pool.adjustSoon();
    },
    close: async () => {
      await Promise.all([...[...pools.values()].map((pool) => pool.close()), ...leaving]);
    },
  };
};
