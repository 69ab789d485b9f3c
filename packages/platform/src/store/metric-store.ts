export interface MetricStore {
  /** Writes samples of sandboxes whose rows exist. One of the same sandbox and moment is there already and stays. */
  addMetrics(rows: readonly MetricRow[]): Promise<void>;
  /** Samples between two moments, both included, that are of this grain or a coarser one, oldest first. */
  listMetrics(query: { sandboxId: string; from: number; to: number; grain: number }): Promise<MetricRow[]>;
  findLatestMetric(sandboxId: string): Promise<MetricRow | undefined>;
  /** Forgets the samples of a grain that are older than that. */
  deleteMetrics(limits: readonly { grain: number; before: number }[]): Promise<void>;
}

/** What one sandbox used at one moment. */
export interface MetricRow {
  sandboxId: string;
  at: number;
  /** The first sample of a longer stretch of time is of a coarser grain, and kept for longer. */
  grain: number;
  /** Since the sample before; 100 when all its cores were busy. */
  cpuUsedPct: number;
  memoryBytes: number;
  cacheBytes: number;
  diskBytes: number;
}
