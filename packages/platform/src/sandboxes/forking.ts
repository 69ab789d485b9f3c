import type { SandboxRow } from '../store/store.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Snapshotting } from './snapshotting.ts';

export interface ForkRequest {
  count: number;
  timeoutMs: number;
}

/** Copies of running sandboxes that go on with their processes. */
export interface Forking {
  /**
   * Captures a running sandbox once and resolves with the outcome of each copy, of which some may have failed; the others
   * are usable. The sandbox itself runs on; connections to it are reset. Rejects, with nothing changed, as
   * `Snapshotting.lend` does.
   */
  fork(sandboxId: string, request: ForkRequest): Promise<PromiseSettledResult<SandboxRow>[]>;
}

/** So many start at the same time: more would only wait for each other until they take too long. */
const LANES = 8;

export const createForking = (options: {
  lifecycle: Pick<Lifecycle, 'fork'>;
  snapshotting: Pick<Snapshotting, 'lend'>;
}): Forking => {
  const { lifecycle, snapshotting } = options;
  return {
    fork: (sandboxId, { count, timeoutMs }) =>
      snapshotting.lend(sandboxId, async (id, source) => {
        const outcomes: PromiseSettledResult<SandboxRow>[] = [];
        let next = 0;
        const lane = async (): Promise<void> => {
          while (next < count) {
            const index = next++;
            const [outcome] = await Promise.allSettled([lifecycle.fork(source, { id, timeoutMs })]);
            outcomes[index] = outcome;
          }
        };
        await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
        return outcomes;
      }),
  };
};
