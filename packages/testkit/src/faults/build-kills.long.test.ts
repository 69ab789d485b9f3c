import { expect, it } from 'vitest';
import { runKills } from './kill-run.ts';

it('a build whose server or helper is killed ends with a reason, leaves nothing, and the next has what it made', async () => {
  const { moments, kills, outcomes, failures, losses, orphans } = await runKills({
    seed: 20_261_123,
    subjects: ['builds'],
    durationMs: 7_000,
    lanes: 1,
  });
  expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
  expect(Math.min(...Object.values(moments))).toBeGreaterThan(2);
  expect(kills, JSON.stringify(outcomes)).toBeGreaterThan(0);
});
