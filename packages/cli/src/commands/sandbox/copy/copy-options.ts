import type { Transfer } from '../../../output/show-transfer.ts';

export interface CopyOptions {
  /** User of the sandbox. */
  user: string | undefined;
  /** Ends the copy, which then leaves nothing on either side. */
  signal: AbortSignal;
  /** Counts what has passed. */
  transfer: Transfer;
}
