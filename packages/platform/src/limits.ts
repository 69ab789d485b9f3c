/** What one installation allows. */
export interface Limits {
  /** Sandboxes that are starting, running or on their way to or from a pause at the same time. */
  maxSandboxes: number;
  /** The longest run; also the largest `timeout` that a request may ask for. */
  maxRunMs: number;
  /** A start that takes longer fails and is undone. One that goes on with checkpoint may take longer, by its size. */
  startTimeoutMs: number;
  /** Processes and threads in one sandbox. */
  processCount: number;
  /** Sandboxes of the base template that are kept started ahead, whether anyone asks for them or not. */
  warmMin: number;
  /** The most that are started ahead, however many were asked for lately; 0: none ever. */
  warmMax: number;
  /** Size of a sandbox from the base template; fixed when the template is made, at the first start. */
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
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
};
