import type { SandboxRow } from '../store/rows.ts';
import type { Creating } from './create/creating.ts';
import type { Snapshotting } from './snapshotting.ts';

export interface ForkRequest {
  count: number;
  timeoutMs: number;
}

/** Copies running sandboxes together with their processes. */
export interface Forking {
  /**
   * Captures a running sandbox once and resolves with the outcome of each copy. Some copies may have failed; the
   * others are usable. The sandbox itself continues; connections to it are reset. Rejects, with nothing changed, as
   * `Snapshotting.lend` does.
   */
  fork(sandboxId: string, request: ForkRequest): Promise<PromiseSettledResult<SandboxRow>[]>;
}

/** The number of copies that start at the same time: more would only delay each other until they time out. */
const LANES = 8;

export const createForking = (options: {
  creating: Pick<Creating, 'fork'>;
  snapshotting: Pick<Snapshotting, 'lend'>;
}): Forking => {
  const { creating, snapshotting } = options;
  return {
    fork: (sandboxId, { count, timeoutMs }) =>
      snapshotting.lend(sandboxId, async (id, source) => {
        const outcomes: PromiseSettledResult<SandboxRow>[] = [];
        let next = 0;
        const lane = async (): Promise<void> => {
          while (next < count) {
            const index = next++;
            const [outcome] = await Promise.allSettled([creating.fork(source, { id, timeoutMs })]);
            outcomes[index] = outcome;
          }
        };
        await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
        return outcomes;
      }),
  };
};
