// Faults for as long as one likes: pnpm test:faults --minutes 10 [--seed 1] [--only lifecycle]
import { parseArgs } from 'node:util';
import { startStack } from '../stack.ts';
import { runFaults } from './fault-run.ts';
import { runKills } from './kill-run.ts';
import { runLifecycle } from './lifecycle-run.ts';

/** Each prints what it counted and says whether all was as it should be. */
const runs: Record<string, (options: { minutes: number; firstSeed: number }) => Promise<boolean>> = {
  /** Throws where it is not. */
  transfers: async ({ minutes, firstSeed }) => {
    await using stack = await startStack();
    const untilMs = performance.now() + minutes * 60_000;
    for (let seed = firstSeed; seed === firstSeed || performance.now() < untilMs; seed += 1) {
      const report = await runFaults({
        stack,
        seed,
        outputBytes: 100_000_000,
        fileCount: 25,
        fileBytes: 2_000_000,
      });
      console.log(JSON.stringify({ seed, ...report }));
    }
    return true;
  },
  lifecycle: async ({ minutes, firstSeed: seed }) => {
    const durationMs = minutes * 60_000;
    const report = await runLifecycle({
      seed,
      durationMs,
      leastOperations: 0,
      sandboxCount: 50,
      lanes: 6,
      killEveryMs: 12_000,
    });
    console.log(JSON.stringify({ seed, minutes, ...report }, undefined, 2));
    return report.failures.length + report.losses.length + report.orphans.length === 0;
  },
  kills: async ({ minutes, firstSeed: seed }) => {
    const report = await runKills({ seed, durationMs: minutes * 60_000 });
    console.log(JSON.stringify({ seed, minutes, ...report }, undefined, 2));
    return report.failures.length + report.losses.length + report.orphans.length === 0;
  },
};

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, got ${values.minutes}`);
const firstSeed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(firstSeed)) throw new Error(`--seed must be an integer, got ${values.seed}`);
const { only } = values;
if (only !== undefined && runs[only] === undefined)
  throw new Error(`--only takes ${Object.keys(runs).join(', ')}, got ${only}`);

for (const [name, run] of Object.entries(runs)) {
  if (only !== undefined && name !== only) continue;
  if (!(await run({ minutes, firstSeed }))) process.exitCode = 1;
}
