import type { PauseKind, SandboxRow } from '../store/rows.ts';
import type { Creator } from './create/creator.ts';
import type { Snapshotter } from './snapshotter.ts';

export interface ForkRequest {
  count: number;
  /** What is captured: the copies of `filesystem` begin without processes. */
  kind: PauseKind;
  timeoutMs: number;
  /** The key of the caller. */
  keyId: string | null;
}

/** Copies running sandboxes. */
export interface Forker {
  /**
   * Captures a running sandbox once and resolves with the outcome of each copy. Some copies may have failed; the
   * others are usable. The sandbox itself continues; a capture with memory resets connections to it. Rejects, with nothing changed, as
   * `Snapshotter.lend` does.
   */
  fork(sandboxId: string, request: ForkRequest): Promise<PromiseSettledResult<SandboxRow>[]>;
}

/** The number of copies that start at the same time: more would only delay each other until they time out. */
const LANES = 8;

export const createForker = (options: {
  creator: Pick<Creator, 'fork'>;
  snapshotter: Pick<Snapshotter, 'lend'>;
}): Forker => {
  const { creator, snapshotter } = options;
  return {
    fork: (sandboxId, { count, kind, ...rest }) =>
      snapshotter.lend({ sandboxId, kind }, async (id, source) => {
        const outcomes: PromiseSettledResult<SandboxRow>[] = [];
        let next = 0;
        const lane = async (): Promise<void> => {
          while (next < count) {
            const index = next++;
            const [outcome] = await Promise.allSettled([creator.fork(source, { id, ...rest })]);
            outcomes[index] = outcome;
          }
        };
        await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
        return outcomes;
      }),
  };
};
