/** How many sandboxes are started in advance on each machine. */
export interface WarmCounts {
  /** Sandboxes of the base template that are always kept started. */
  min: number;
  /** The most that a high demand keeps started. */
  max: number;
}
