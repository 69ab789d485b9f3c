/**
 * A transition moves a sandbox between running and paused, or requires that its state does not change. `recovery`
 * completes transitions that an earlier process left unfinished, and `copy` captures a paused sandbox for the blob store.
 */
export type TransitionKind =
  | 'pause-memory'
  | 'pause-filesystem'
  | 'resume'
  | 'recovery'
  | 'snapshot'
  | 'network'
  | 'copy';

export interface Transition {
  readonly kind: TransitionKind;
  /** Resolves when it is over, whatever its result. */
  readonly over: Promise<void>;
  /** Rejects as its work. A caller that joins it awaits this. */
  readonly result: Promise<unknown>;
  /** Ends it early; its caller may try again. */
  readonly interrupt?: () => void;
}

/** The transitions that this process runs: one at a time for each sandbox. */
export interface Transitions {
  current(id: string): Transition | undefined;
  /** The sandboxes that have one. */
  underWay(): string[];
  /**
   * Runs `work` as the transition of this sandbox. Requires that no other is in progress: check `current` in the same
   * turn.
   */
  run<T>(
    id: string,
    kind: TransitionKind,
    work: () => Promise<T>,
    options?: Pick<Transition, 'interrupt'>,
  ): Promise<T>;
  /** Resolves when no copy is in progress for this sandbox: callers do not know of those, and are not refused for one. */
  copied(id: string): Promise<void>;
  /** Resolves when none is in progress for this sandbox. */
  idle(id: string): Promise<void>;
  /** Resolves when none is in progress. */
  settled(): Promise<void>;
}

/** `onOver` is called after each. `around` does the work of each, such as to observe it. */
export const createTransitions = ({
  onOver,
  around = (_kind, work) => work(),
}: {
  onOver?: () => void;
  around?: <T>(kind: TransitionKind, work: () => Promise<T>) => Promise<T>;
} = {}): Transitions => {
  const underWay = new Map<string, Transition>();
  return {
    current: (id) => underWay.get(id),
    underWay: () => [...underWay.keys()],
    run: (id, kind, work, options = {}) => {
      if (underWay.has(id)) throw new Error(`sandbox ${id} has a transition in progress`);
      const result = around(kind, work).finally(() => {
        underWay.delete(id);
        onOver?.();
      });
      const over = result.then(
        () => undefined,
        () => undefined,
      );
      underWay.set(id, { kind, over, result, ...options });
      return result;
    },
    copied: async (id) => {
      for (let last = underWay.get(id); last?.kind === 'copy'; last = underWay.get(id)) await last.over;
    },
    idle: async (id) => {
      for (let last = underWay.get(id); last !== undefined; last = underWay.get(id)) await last.over;
    },
    settled: async () => {
      while (underWay.size > 0) await Promise.all(Array.from(underWay.values(), ({ over }) => over));
    },
  };
};
