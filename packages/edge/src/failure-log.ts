import type { Target } from './target.ts';

/** Tells the operator of sandboxes that do not answer. What runs inside decides how often that happens, so it is bounded. */
export interface FailureLog {
  /** Writes at most one line a minute for each sandbox, with the number of failures that were not told before it. */
  note(target: Target, error: Error): void;
  /** To be called when a run of the sandbox has ended: nothing of it is kept. */
  forget(sandboxId: string): void;
}

const pauseMs = 60_000;

/** `now` gives milliseconds that never go back. */
export const createFailureLog = (options: {
  log: { warn(message: string, fields?: Record<string, unknown>): void };
  now: () => number;
}): FailureLog => {
  const told = new Map<string, { atMs: number; untold: number }>();
  return {
    note(target, error) {
      const nowMs = options.now();
      const last = told.get(target.sandboxId);
      if (last !== undefined && nowMs - last.atMs < pauseMs) {
        last.untold += 1;
        return;
      }
      told.set(target.sandboxId, { atMs: nowMs, untold: 0 });
      // The code alone: it comes from a closed set, and a stack of ours says nothing about a program inside.
      const code = 'code' in error ? String(error.code) : error.name;
      options.log.warn('no answer from a sandbox', { code, ...target, untold: last?.untold ?? 0 });
    },
    forget: (sandboxId) => void told.delete(sandboxId),
  };
};
