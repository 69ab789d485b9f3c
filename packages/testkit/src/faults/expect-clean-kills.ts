import { expect } from 'vitest';
import { type KillSubject, runKills } from './kill-run.ts';

/** Kills at moments of operations on one kind of thing for seven seconds: nothing may fail, be lost or be left. */
export const expectCleanKills = async (subject: KillSubject, { seed }: { seed: number }): Promise<void> => {
  const { moments, kills, outcomes, failures, losses, orphans } = await runKills({
    seed,
    subjects: [subject],
    durationMs: 7_000,
    lanes: 1,
  });
  expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
  // A run without kills shows nothing.
  expect(Math.min(...Object.values(moments))).toBeGreaterThan(2);
  expect(kills, JSON.stringify(outcomes)).toBeGreaterThan(0);
};
