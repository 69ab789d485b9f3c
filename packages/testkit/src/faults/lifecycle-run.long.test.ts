import { expect, it } from 'vitest';
import { runLifecycle } from './lifecycle-run.ts';

it.each([
  { level: 'container', durationMs: 9_000, leastOperations: 20, sandboxCount: 6, killEveryMs: 3_000 },
  { level: 'gvisor', durationMs: 8_000, leastOperations: 14, sandboxCount: 5, killEveryMs: 3_000 },
] as const)(
  'random operations on sandboxes of level $level, whose server and helper are killed, lose nothing and leave nothing',
  async (options) => {
    const { done, cutOff, kills, checks, failures, losses, orphans } = await runLifecycle({
      ...options,
      seed: 20_261_120,
      lanes: 3,
    });
    expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
    // A run without kills and work shows nothing.
    expect(kills.server + kills.helper).toBeGreaterThan(0);
    expect(Object.keys(done).length, JSON.stringify({ done, cutOff })).toBeGreaterThan(3);
    expect(checks).toBeGreaterThan(3);
  },
);
