import { expect, it } from 'vitest';
import { runKills } from './kill-run.ts';

it('a kill of server, helper, CRIU or crun at a step of an operation loses nothing, leaves nothing, and a retry works', async () => {
  const { moments, kills, outcomes, failures, losses, orphans } = await runKills({
    seed: 20_261_120,
    subjects: ['sandboxes'],
    durationMs: 7_000,
    lanes: 1,
  });
  expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
  // It did what it is for.
  expect(Math.min(...Object.values(moments))).toBeGreaterThan(2);
  expect(kills, JSON.stringify(outcomes)).toBeGreaterThan(0);
});
