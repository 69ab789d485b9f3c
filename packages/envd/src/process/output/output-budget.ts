/** The output of one process, as the budget sees it. */
export interface OutputHolder {
  readonly costBytes: number;
  /** Drops the bytes that no reader waits for. */
  free(): void;
  /** Drops the rest too, and its readers. Called only for ended processes. */
  abandon(): void;
}

/** Bounds the memory that the output of all processes takes together. */
export interface OutputBudget {
  /** True when readers wait for so much that each process gets only a small share. */
  readonly isTight: boolean;
  addLive(holder: OutputHolder): void;
  /** Marks a holder whose process has ended: its output is among the first that is dropped. */
  markEnded(holder: OutputHolder): void;
  remove(holder: OutputHolder): void;
  /** Reports a change. Growth beyond the limit drops the output of others: that of ended processes first, then the largest. */
  change(deltaBytes: number): void;
}

const MAX_BYTES = 32 * 1024 * 1024;

export const createOutputBudget = ({ maxBytes = MAX_BYTES } = {}): OutputBudget => {
  const live = new Set<OutputHolder>();
  const ended = new Set<OutputHolder>();
  let usedBytes = 0;

  const reclaim = (): void => {
    // Leave room for the next bytes; otherwise every byte would search again.
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
