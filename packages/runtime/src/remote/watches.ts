/** Who wants to know when which run is over. A run is told of once, whatever number of times it is reported. */
export interface Watches {
  /** Returns whether this is the first listener of that run. */
  add(instance: string, runId: string, listener: () => void): boolean;
  remove(instance: string, runId: string, listener: () => void): void;
  tell(instance: string, runId: string): void;
  runs(): { instance: string; runId: string }[];
}

export function createWatches(): Watches {
  const listeners = new Map<string, Set<() => void>>();
  // An id has no space.
  const toKey = (instance: string, runId: string): string => `${instance} ${runId}`;
  return {
    add: (instance, runId, listener) => {
      const key = toKey(instance, runId);
      const known = listeners.get(key);
      listeners.set(key, (known ?? new Set()).add(listener));
      return known === undefined;
    },
    remove: (instance, runId, listener) => {
      const key = toKey(instance, runId);
      const known = listeners.get(key);
      known?.delete(listener);
      if (known?.size === 0) listeners.delete(key);
    },
    tell: (instance, runId) => {
      const key = toKey(instance, runId);
      const known = listeners.get(key);
      listeners.delete(key);
      for (const listener of known ?? []) listener();
    },
    runs: () =>
      [...listeners.keys()].map((key) => {
        const [instance = '', runId = ''] = key.split(' ');
        return { instance, runId };
      }),
  };
}
