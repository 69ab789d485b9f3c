// What takes too long for every change: the packages, packed and published to a throw-away registry, as their users use them,
// the site of the documentation, and comparisons with programs of others.
// Needs root and the built packages. Ends with the counts alone on a line.
import { runDryRun } from './release/dry-run/run-dry-run.ts';
import { runParts } from './testing/run-parts.ts';
import { toProjectParts } from './testing/run-projects.ts';

const dryRun = { name: 'dry run', run: runDryRun };
const isGreen = await runParts([dryRun, ...toProjectParts(['release'])]);
process.exit(isGreen ? 0 : 1);
