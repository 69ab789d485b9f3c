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
