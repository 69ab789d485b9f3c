/** What the sandboxes of a host take now, as the process that makes them sees it. */
export interface HostLoad {
  running: number;
  paused: number;
  /** The limits of those that run, together. */
  memoryBytes: number;
  cpuCount: number;
  /** Starts that have a turn, and those that wait for one. */
  startsUnderWay: number;
  startsWaiting: number;
}
