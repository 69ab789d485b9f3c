import type { AgentKeys, Directory } from '@skerry/contract/directory';
import type { Instance } from '@skerry/runtime';

/** The running sandboxes whose handle this process has. */
export interface Live {
  readonly directory: Directory;
  has(id: string): boolean;
  get(id: string): Instance | undefined;
  /** Adds it to the directory. `onExit` is called once if the run ends before `remove`. */
  add(instance: Instance, agent: AgentKeys, onExit: () => void): void;
  /** Removes it from the directory. */
  remove(id: string): Instance | undefined;
  /** Removes all of them without ending any. */
  clear(): void;
}

export const createLive = (): Live => {
  const entries = new Map<string, { instance: Instance; agent: AgentKeys; unsubscribe: () => void }>();
  const listeners = new Set<(sandboxId: string, runId: string) => void>();
  return {
    directory: {
      find: async (id) => {
        const entry = entries.get(id);
        if (entry === undefined) return undefined;
        const { instance, agent } = entry;
        return { runId: instance.runId, agent, connect: (port, options) => instance.connect(port, options) };
      },
      onEnd: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    has: (id) => entries.has(id),
    get: (id) => entries.get(id)?.instance,
    add: (instance, agent, onExit) => {
      entries.get(instance.id)?.unsubscribe();
      const entry = { instance, agent, unsubscribe: () => {} };
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
