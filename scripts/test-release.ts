// What takes too long for every change: the long tests of drivers and service, the packages, packed and published to a throw-away registry, as their users use them,
// the first day of a user, the site of the documentation, comparisons with programs of others, the next version, and the last release, or
// the revision that --against names, with this checkout.
// Needs root and the built packages. Ends with the counts alone on a line.
import { parseArgs } from 'node:util';
import { runDryRun } from './release/dry-run/run-dry-run.ts';
import { runNextVersion } from './release/next-version.ts';
import { runVersions } from './release/versions/run-versions.ts';
import { runParts } from './testing/run-parts.ts';
import { runTests } from './testing/run-tests.ts';

const { values } = parseArgs({ options: { against: { type: 'string' } } });
const versions = { name: 'versions', run: () => runVersions(values) };
const dryRun = { name: 'dry run', run: runDryRun };
const nextVersion = { name: 'next version', run: runNextVersion };
const tests = { name: 'tests', run: () => runTests(['release', 'long']) };
const isGreen = await runParts([[dryRun], [nextVersion], [versions], [tests]]);
process.exit(isGreen ? 0 : 1);
