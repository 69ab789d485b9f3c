import type { Scope } from '../store/scope.ts';
import type { Store } from '../store/store.ts';
import { KEEP_SAMPLES_MS, toCountStep } from './grain.ts';

/** What all sandboxes did in one step. */
export interface TeamStep {
  at: number;
  concurrent: number;
  /** Starts a second. */
  startRate: number;
}

/** Lists the steps that begin in a window, oldest first. What is no longer kept, or has not been, has no steps. */
export const listTeamSteps = async (
  store: Pick<Store, 'countSampled' | 'countCreated'>,
  { scope, from, to, now }: { scope: Scope; from: number; to: number; now: number },
): Promise<TeamStep[]> => {
  const begin = Math.max(from, now - KEEP_SAMPLES_MS);
  const { stepMs, grain } = toCountStep(now - begin);
  const first = Math.ceil(begin / stepMs);
  const last = Math.floor(Math.min(to, now) / stepMs);
  if (last < first) return [];
  const window = { scope, from: first * stepMs, to: (last + 1) * stepMs, stepMs };
  const [sampled, created] = await Promise.all([
    store.countSampled({ ...window, grain }),
    store.countCreated(window),
  ]);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const step = first + index;
    return {
      at: step * stepMs,
      concurrent: sampled.get(step) ?? 0,
      startRate: (created.get(step) ?? 0) / (stepMs / 1000),
    };
  });
};
