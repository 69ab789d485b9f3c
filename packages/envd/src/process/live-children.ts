const live = new Map<number, Promise<void>>();

/** Enters a child that was just spawned. The returned function is called when it has exited. */
export const addChild = (pid: number): (() => void) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  live.set(pid, promise);
  return () => {
    // The kernel may have given its number to a later one.
    if (live.get(pid) === promise) live.delete(pid);
    resolve();
  };
};

/** Resolves when a child has exited, also while other processes hold its output; at once for a pid that is no child. */
export const whenExited = (pid: number): Promise<void> => live.get(pid) ?? Promise.resolve();
