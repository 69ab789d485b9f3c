// What a contributor runs: the checks, and beside most of them the tests that are not long. Needs the built
// packages, which nothing here changes. Ends with a line for each failure, the time of each part, and the counts
// alone on a line, or in the file of --counts.
import { parseArgs } from 'node:util';
import { checkGeneration, runChecks } from './check.ts';
import { runParts } from './testing/run-parts.ts';
import { createTestsPart } from './testing/tests-part.ts';

const { values } = parseArgs({ options: { counts: { type: 'string' } } });
const generation = { name: 'generation', run: checkGeneration };
const checks = { name: 'checks', run: runChecks };
const tests = createTestsPart({ projects: ['unit', 'agent', 'drivers', 'stack'] });
const isGreen = await runParts([[generation], [checks, tests]], { countsFile: values.counts });
process.exit(isGreen ? 0 : 1);
