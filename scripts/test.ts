// Everything that CI runs: the checks, then the three vitest projects. Ends with a line for each failure, the time of
// each part, and the counts alone on a line.
import { runChecks } from './check.ts';
import { runParts } from './testing/run-parts.ts';
import { toProjectParts } from './testing/run-projects.ts';

const checks = { name: 'checks', run: () => ({ ...runChecks(), skipped: [] }) };
const isGreen = await runParts([checks, ...toProjectParts(['unit', 'drivers', 'stack'])]);
process.exit(isGreen ? 0 : 1);
