export interface MetricStore {
  /** Writes samples of sandboxes whose rows exist. An existing sample of the same sandbox and moment stays. */
  addMetrics(rows: readonly MetricRow[]): Promise<void>;
  /** Samples between two moments, both included, of this grain or a coarser one, oldest first. */
  listMetrics(query: { sandboxId: string; from: number; to: number; grain: number }): Promise<MetricRow[]>;
  findLatestMetric(sandboxId: string): Promise<MetricRow | undefined>;
  /** Removes the samples of a grain that are older than that. */
  deleteMetrics(limits: readonly { grain: number; before: number }[]): Promise<void>;
}

/** The usage of one sandbox at one moment. */
export interface MetricRow {
  sandboxId: string;
  at: number;
  /** The first sample of a longer interval has a coarser grain, and is kept for longer. */
  grain: number;
  /** Since the previous sample; 100 when all its cores were busy. */
  cpuUsedPct: number;
  memoryBytes: number;
  cacheBytes: number;
  diskBytes: number;
}
