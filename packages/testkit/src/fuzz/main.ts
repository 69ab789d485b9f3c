// Broken input for as long as one likes: pnpm test:fuzz --minutes 10 [--seed 1] [--target streams] [--path 3:0:1]
import { parseArgs } from 'node:util';
import { startStack } from '../stack/stack.ts';
import { createArena } from './arena.ts';
import { describeFailure, fuzz, TARGET_NAMES } from './fuzz-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    target: { type: 'string' },
    path: { type: 'string' },
  },
});
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, got ${values.minutes}`);
const firstSeed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(firstSeed)) throw new Error(`--seed must be an integer, got ${values.seed}`);
const targets = TARGET_NAMES.filter((name) => values.target === undefined || name === values.target);
if (targets.length === 0) throw new Error(`--target must be one of ${TARGET_NAMES.join(', ')}`);

await using stack = await startStack();
let arena = await createArena(stack);
const untilMs = performance.now() + minutes * 60_000;
for (let seed = firstSeed; seed === firstSeed || performance.now() < untilMs; seed += 1) {
  for (const target of targets) {
    const path = values.path === undefined ? {} : { path: values.path };
    const report = await fuzz({ arena, target, seed, runs: 1000, maxMs: 60_000, ...path });
    const { failure, ...counts } = report;
    console.log(JSON.stringify(counts));
    if (failure === undefined) continue;
    process.exitCode = 1;
    console.log(describeFailure(report));
    // What failed may have left it in a state that fails everything else.
    arena = await createArena(stack);
  }
  if (values.path !== undefined) break;
}
