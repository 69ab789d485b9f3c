// What takes too long for every change: the packages, packed and published to a throw-away registry, as their users use them,
// the site of the documentation, and comparisons with programs of others.
// Needs root and the built packages. Ends with the counts alone on a line.
import { buildSite } from './release/build-site.ts';
import { runDryRun } from './release/dry-run/run-dry-run.ts';
import { runParts } from './testing/run-parts.ts';
import { runTests } from './testing/run-tests.ts';

const dryRun = { name: 'dry run', run: runDryRun };
const site = { name: 'site', run: buildSite };
const tests = { name: 'tests', run: () => runTests(['release']) };
const isGreen = await runParts([[site], [dryRun], [tests]]);
process.exit(isGreen ? 0 : 1);
