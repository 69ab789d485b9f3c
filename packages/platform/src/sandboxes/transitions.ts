/**
 * What moves a sandbox between running and paused, or needs it to stay what it is. `recovery` finishes what an earlier
 * process left half way.
 */
export type TransitionKind = 'pause-memory' | 'pause-filesystem' | 'resume' | 'recovery' | 'snapshot';

export interface Transition {
  readonly kind: TransitionKind;
  /** Resolves when it is over, however it went. */
  readonly over: Promise<void>;
  /** Has it end early, where whoever asked for it may ask again. */
  readonly interrupt?: () => void;
}

/** The transitions that this process works on: one at a time for each sandbox. */
export interface Transitions {
  current(id: string): Transition | undefined;
  /** Runs `work` as the transition of this sandbox. Nothing else may be under way for it: ask `current` in the same turn. */
  run<T>(
    id: string,
    kind: TransitionKind,
    work: () => Promise<T>,
    options?: Pick<Transition, 'interrupt'>,
  ): Promise<T>;
  /** Resolves when none is under way for this sandbox. */
  idle(id: string): Promise<void>;
  /** Resolves when none is under way for any. */
  settled(): Promise<void>;
}

export const createTransitions = (): Transitions => {
  const underWay = new Map<string, Transition>();
  return {
    current: (id) => underWay.get(id),
    run: (id, kind, work, options = {}) => {
      if (underWay.has(id)) throw new Error(`sandbox ${id} has a transition under way`);
      const result = work().finally(() => underWay.delete(id));
      const over = result.then(
        () => undefined,
        () => undefined,
      );
      underWay.set(id, { kind, over, ...options });
      return result;
    },
    idle: async (id) => {
      for (let last = underWay.get(id); last !== undefined; last = underWay.get(id)) await last.over;
    },
    settled: async () => {
      while (underWay.size > 0) await Promise.all(Array.from(underWay.values(), ({ over }) => over));
    },
  };
};
