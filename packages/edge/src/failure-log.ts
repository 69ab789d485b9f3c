import type { Target } from './target.ts';

/** Logs sandboxes that do not respond. Code inside decides how often that happens, so the log is limited. */
export interface FailureLog {
  /**
   * Writes at most one line a minute for each sandbox, with the number of failures that were omitted since the last
   * line.
   */
  note(target: Target, error: Error): void;
  /** Call when a run of the sandbox has ended: removes its state. */
  forget(sandboxId: string): void;
}

const pauseMs = 60_000;

/** `now` returns milliseconds that never decrease. */
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
      // The code alone: it comes from a closed set, and a stack of the edge does not explain a program inside.
      const code = 'code' in error ? String(error.code) : error.name;
      options.log.warn('no response from a sandbox', { code, ...target, untold: last?.untold ?? 0 });
    },
    forget: (sandboxId) => void told.delete(sandboxId),
  };
};
