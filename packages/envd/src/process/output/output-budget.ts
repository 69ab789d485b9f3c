/** One user of the budget. */
export interface OutputHolder {
  readonly costBytes: number;
  /** Gives up what no reader waits for. */
  free(): void;
  /** Gives up the rest too: its readers are dropped. Only asked of the output of ended processes. */
  abandon(): void;
}

/** Bounds the memory that the output of all processes takes together. */
export interface OutputBudget {
  /** True when readers wait for so much that every process must make do with little. */
  readonly isTight: boolean;
  addLive(holder: OutputHolder): void;
  /** From now on it is among the first to give something up. */
  markEnded(holder: OutputHolder): void;
  remove(holder: OutputHolder): void;
  /** Tells of a change; a growth beyond the limit makes others give up what they keep, ended ones first, then the largest. */
  change(deltaBytes: number): void;
}

const MAX_BYTES = 32 * 1024 * 1024;

export const createOutputBudget = ({ maxBytes = MAX_BYTES } = {}): OutputBudget => {
  const live = new Set<OutputHolder>();
  const ended = new Set<OutputHolder>();
  let usedBytes = 0;

  const reclaim = (): void => {
    // Some room for what comes next, or every byte would search again.
    const isEnough = (): boolean => usedBytes <= (maxBytes * 3) / 4;
    for (const holder of ended) if (!isEnough()) holder.free();
    if (isEnough()) return;
    for (const holder of [...live].toSorted((a, b) => b.costBytes - a.costBytes)) {
      if (!isEnough()) holder.free();
    }
    for (const holder of ended) if (!isEnough()) holder.abandon();
  };

  return {
    get isTight() {
      return usedBytes > maxBytes;
    },
    addLive(holder) {
      live.add(holder);
    },
    markEnded(holder) {
      if (live.delete(holder)) ended.add(holder);
    },
    remove(holder) {
      live.delete(holder);
      ended.delete(holder);
    },
    change(deltaBytes) {
      usedBytes += deltaBytes;
      if (deltaBytes > 0 && usedBytes > maxBytes) reclaim();
    },
  };
};
