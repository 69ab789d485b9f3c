// Everything that CI runs: the checks, and beside most of them four vitest projects. Needs the built packages, which nothing
// here changes. Ends with a line for each failure, the time of each part, and the counts alone on a line.
import { checkGeneration, runChecks } from './check.ts';
import { runParts } from './testing/run-parts.ts';
import { runTests } from './testing/run-tests.ts';

const generation = { name: 'generation', run: checkGeneration };
const checks = { name: 'checks', run: runChecks };
const tests = { name: 'tests', run: () => runTests(['unit', 'agent', 'drivers', 'stack']) };
const isGreen = await runParts([[generation], [checks, tests]]);
process.exit(isGreen ? 0 : 1);
