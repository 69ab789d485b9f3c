import { expect, it } from 'vitest';
import { runLifecycle } from './lifecycle-run.ts';

it('random operations on sandboxes, whose server and helper are killed, lose nothing and leave nothing', async () => {
  const { done, cutOff, kills, checks, failures, losses, orphans } = await runLifecycle({
    seed: 20_261_120,
    durationMs: 9_000,
    leastOperations: 20,
    sandboxCount: 6,
    lanes: 3,
    killEveryMs: 3_000,
  });
  expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
  // It did what it is for.
  expect(kills.server + kills.helper).toBeGreaterThan(0);
  expect(Object.keys(done).length, JSON.stringify({ done, cutOff })).toBeGreaterThan(3);
  expect(checks).toBeGreaterThan(3);
}, 240_000);
