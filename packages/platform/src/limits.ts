/** The limits of one installation. */
export interface Limits {
  /** The concurrency limit: sandboxes that are starting, running, pausing or resuming at the same time. */
  maxSandboxes: number;
  /** The longest run; also the maximum `timeout` of a request. */
  maxRunMs: number;
  /** A start that takes longer fails and is undone. A start from a checkpoint may take longer, by its size. */
  startTimeoutMs: number;
  /** Processes and threads in one sandbox. */
  processCount: number;
  /** The number of sandboxes of the base template that are always kept started in advance. */
  warmMin: number;
  /** The maximum number started in advance, whatever the recent demand; 0 disables the pool. */
  warmMax: number;
  /** Size of a sandbox from the base template; fixed when the template is made, at the first start. */
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
  /** The space that the results of steps of builds may take beside the templates; 0: none are kept. */
  buildCacheMb: number;
  /** A build that takes longer fails. */
  buildTimeoutMs: number;
}

export const defaultLimits: Limits = {
  maxSandboxes: 100,
  maxRunMs: 86_400_000,
  startTimeoutMs: 30_000,
  processCount: 1024,
  warmMin: 0,
  warmMax: 0,
  cpuCount: 2,
  memoryMb: 1024,
  diskMb: 2048,
  buildCacheMb: 10_240,
  buildTimeoutMs: 60 * 60_000,
};

const PER_MIB_MS = 50;

/** Returns the extra time of a start that reads so much memory back: slow disks read 20 MiB a second. */
export const toMemoryExtraMs = (memoryMb: number): number => PER_MIB_MS * memoryMb;
