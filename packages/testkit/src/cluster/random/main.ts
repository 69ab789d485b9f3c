// Faults of a cluster for as long as one likes: pnpm test:cluster --minutes 10 [--seed 1]
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runRandomFaults } from './random-run.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, got ${values.minutes}`);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be an integer, got ${values.seed}`);

const logFile = join(tmpdir(), `skerry-cluster-${seed}.log`);
console.log(`seed ${seed}, the log goes to ${logFile}`);
const toSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const report = await runRandomFaults({
  seed,
  durationMs: minutes * 60_000,
  sandboxCount: 24,
  lanes: 6,
  faultEveryMs: 4_000,
  onFault: ({ what, lastedMs, recoveredMs }) =>
    console.log(`${what}: ${toSeconds(lastedMs)}, and all is ready after another ${toSeconds(recoveredMs)}`),
  onLog: (log) => writeFileSync(logFile, log),
});
console.log(JSON.stringify({ seed, minutes, ...report }, undefined, 2));
const wrong = report.failures.length + report.losses.length + report.orphans.length;
process.exit(wrong === 0 ? 0 : 1);
