// Everything that CI runs: the checks, and beside them the three vitest projects. Ends with a line for each failure, the time of
// each part, and the counts alone on a line.
import { runChecks } from './check.ts';
import { runParts } from './testing/run-parts.ts';
import { runTests } from './testing/run-tests.ts';

const checks = { name: 'checks', run: async () => ({ ...(await runChecks()), skipped: [] }) };
const tests = { name: 'tests', run: () => runTests(['unit', 'drivers', 'stack']) };
const isGreen = await runParts([[checks, tests]]);
process.exit(isGreen ? 0 : 1);
