import { findPostgres } from '@skerry/platform/postgres-server';
import { expect, it } from 'vitest';
import { runRandomFaults } from '../random/random-run.ts';

it.skipIf(findPostgres() === undefined)(
  'two servers with three nodes lose nothing and leave nothing when they and PostgreSQL are killed, frozen and cut off at random',
  async () => {
    const { failures, losses, orphans, done, faults, checks, looks } = await runRandomFaults({
      seed: 20_261_126,
      durationMs: 90_000,
      sandboxCount: 12,
      lanes: 4,
      faultEveryMs: 3_000,
    });
    expect({ failures, losses, orphans }).toEqual({ failures: [], losses: [], orphans: [] });
    // A run without faults and work shows nothing.
    expect(Object.keys(faults).length).toBeGreaterThan(2);
    expect(Object.keys(done).length, JSON.stringify(done)).toBeGreaterThan(3);
    expect(checks).toBeGreaterThan(3);
    expect(looks).toBeGreaterThan(20);
  },
);
