import type { Directory } from '@skerry/contract/directory';
import type { Instance } from '@skerry/runtime';
import type { RouteKeys } from '../tokens.ts';

/** The running sandboxes whose handle this process has. */
export interface Live {
  readonly directory: Omit<Directory, 'findDormant'>;
  has(id: string): boolean;
  get(id: string): Instance | undefined;
  /** Adds it to the directory. `onExit` is called once if the run ends before `remove`. `node`: where it is. */
  add(instance: Instance, keys: RouteKeys, onExit: () => void, node?: string | null): void;
  /** Removes all on a node from the directory, without ending connections: another server goes on with them. */
  leave(node: string): { id: string; runId: string }[];
  /** Removes it from the directory. */
  remove(id: string): Instance | undefined;
  /** Removes all of them without ending any. */
  clear(): void;
}

export const createLive = (): Live => {
  const entries = new Map<
    string,
    { instance: Instance; keys: RouteKeys; node: string | null; unsubscribe: () => void }
  >();
  const listeners = new Set<(sandboxId: string, runId: string) => void>();
  return {
    directory: {
      find: async (id) => {
        const entry = entries.get(id);
        if (entry === undefined) return undefined;
        const { instance, keys } = entry;
        return {
          runId: instance.runId,
          ...keys,
          connect: (port, options) => instance.connect(port, options),
        };
      },
      onEnd: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    has: (id) => entries.has(id),
    get: (id) => entries.get(id)?.instance,
    leave: (node) => {
      const left = [...entries].filter(([, entry]) => entry.node === node);
      for (const [id, { unsubscribe }] of left) {
        entries.delete(id);
        unsubscribe();
      }
      return left.map(([id, { instance }]) => ({ id, runId: instance.runId }));
    },
    add: (instance, keys, onExit, node = null) => {
      entries.get(instance.id)?.unsubscribe();
      const entry = { instance, keys, node, unsubscribe: () => {} };
      entries.set(instance.id, entry);
      entry.unsubscribe = instance.onExit(onExit);
    },
    remove: (id) => {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      entries.delete(id);
      entry.unsubscribe();
      for (const listener of listeners) listener(id, entry.instance.runId);
      return entry.instance;
    },
    clear: () => {
      for (const entry of entries.values()) entry.unsubscribe();
      entries.clear();
    },
  };
};
