// Faults for as long as one likes: pnpm test:faults --minutes 10 [--seed 1] [--only lifecycle] [--isolation gvisor]
// Kills have two subjects, sandboxes and builds: --only kills --subject builds
import { parseArgs } from 'node:util';
import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { startStack } from '../stack/stack.ts';
import { runFaults } from './fault-run.ts';
import { type KillSubject, killSubjects, runKills } from './kill-run.ts';
import type { KillReport } from './kills/kill-report.ts';
import { toArgs } from './level.ts';
import { runLifecycle } from './lifecycle-run.ts';

interface Run {
  minutes: number;
  firstSeed: number;
  level: IsolationLevel;
  subjects: readonly KillSubject[];
}

const PROGRESS_EVERY_MS = 15_000;

const createProgress = (): ((report: KillReport) => void) => {
  let nextAtMs = 0;
  return ({ kills, planned, missed, ended, failures, losses, orphans }) => {
    const now = performance.now();
    if (now < nextAtMs) return;
    nextAtMs = now + PROGRESS_EVERY_MS;
    const wrong = { missed: missed.length, ended, failures, losses, orphans };
    console.log(`${kills} of ${planned} kills ${JSON.stringify(wrong)}`);
  };
};

/** Each prints what it counted and says whether all was as it should be. */
const runs: Record<string, (run: Run) => Promise<boolean>> = {
  /** Throws where it is not. */
  transfers: async ({ minutes, firstSeed, level }) => {
    await using stack = await startStack({ args: toArgs(level) });
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
  lifecycle: async ({ minutes, firstSeed: seed, level }) => {
    const durationMs = minutes * 60_000;
    const report = await runLifecycle({
      seed,
      level,
      durationMs,
      leastOperations: 0,
      sandboxCount: level === 'gvisor' ? 20 : 50,
      lanes: 6,
      killEveryMs: 12_000,
    });
    console.log(JSON.stringify({ seed, minutes, level, ...report }, undefined, 2));
    return report.failures.length + report.losses.length + report.orphans.length === 0;
  },
  kills: async ({ minutes, firstSeed: seed, level, subjects }) => {
    const report = await runKills({
      ...{ seed, level, subjects },
      durationMs: minutes * 60_000,
      lanes: 3,
      onProgress: createProgress(),
    });
    console.log(JSON.stringify({ seed, minutes, level, ...report }, undefined, 2));
    const { kills, missed, planned } = report;
    console.log(
      `went through ${kills + missed.length} of ${planned}, of which ${missed.length} did not show again`,
    );
    return report.failures.length + report.losses.length + report.orphans.length === 0;
  },
};

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    subject: { type: 'string' },
    isolation: { type: 'string', default: 'container' },
  },
});
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, got ${values.minutes}`);
const firstSeed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(firstSeed)) throw new Error(`--seed must be an integer, got ${values.seed}`);
const { only, isolation, subject } = values;
if (only !== undefined && runs[only] === undefined)
  throw new Error(`--only takes ${Object.keys(runs).join(', ')}, got ${only}`);
const level = isolationLevels.find((known) => known === isolation);
if (level === undefined) throw new Error(`--isolation takes ${isolationLevels.join(', ')}, got ${isolation}`);

const subjects = killSubjects.filter((known) => subject === undefined || known === subject);
if (subjects.length === 0) throw new Error(`--subject takes ${killSubjects.join(', ')}, got ${subject}`);

for (const [name, run] of Object.entries(runs)) {
  if (only !== undefined && name !== only) continue;
  if (!(await run({ minutes, firstSeed, level, subjects }))) process.exitCode = 1;
}
