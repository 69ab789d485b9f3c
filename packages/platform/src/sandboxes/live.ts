import type { Directory } from '@skerry/contract/directory';
import type { Instance } from '@skerry/runtime';

/** The running sandboxes that this process holds a handle of. */
export interface Live {
  readonly directory: Directory;
  has(id: string): boolean;
  get(id: string): Instance | undefined;
  /** From here on the directory finds it. `onExit` is called once if the run ends before `remove`. */
  add(instance: Instance, onExit: () => void): void;
  /** From here on the directory does not find it. */
  remove(id: string): Instance | undefined;
  /** Lets go of all of them without ending any. */
  clear(): void;
}

export const createLive = (): Live => {
  const entries = new Map<string, { instance: Instance; unsubscribe: () => void }>();
  const listeners = new Set<(sandboxId: string, runId: string) => void>();
  return {
    directory: {
      find: async (id) => {
        const instance = entries.get(id)?.instance;
        return (
          instance && { runId: instance.runId, connect: (port, options) => instance.connect(port, options) }
        );
      },
      onEnd: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    has: (id) => entries.has(id),
    get: (id) => entries.get(id)?.instance,
    add: (instance, onExit) => {
      entries.get(instance.id)?.unsubscribe();
      const entry = { instance, unsubscribe: () => {} };
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
