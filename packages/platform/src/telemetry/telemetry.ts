/** What happens to sandboxes, for operators. */
export type Operation = 'create' | 'resume' | 'pause';

/** Hears of the work of the service while it is done. Its methods never throw. */
export interface Telemetry {
  /**
   * An operation that callers or the end of a sandbox have asked for is over, after that time. `failure` is its reason, one of a few;
   * undefined when it has succeeded.
   */
  onOperation(done: { operation: Operation; durationMs: number; failure: string | undefined }): void;
  /** A create could have used an instance that was started in advance, and has found one or not. */
  onWarmClaim(isHit: boolean): void;
  /** A call is made at another server, which owns what it is for. */
  onForward(): void;
}

export const noTelemetry: Telemetry = { onOperation: () => {}, onWarmClaim: () => {}, onForward: () => {} };
