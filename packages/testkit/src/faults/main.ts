// Disturbed transfers for as long as one likes: pnpm test:faults --minutes 10 [--seed 1]
import { parseArgs } from 'node:util';
import { startStack } from '../stack.ts';
import { runFaults } from './fault-run.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, got ${values.minutes}`);
const firstSeed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(firstSeed)) throw new Error(`--seed must be an integer, got ${values.seed}`);

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
