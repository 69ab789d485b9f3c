// What takes longer than `npm test` may: tests named x.long.test.ts, clusters with their failures, the packages as
// their users use them, published to a throw-away registry, the first day of a user, the site of the documentation,
// comparisons with other programs, the next version, and clients of the last release with a server of this checkout,
// and the reverse. Needs root and the built packages. Ends with the counts alone on a line, or in the file of
// --counts.
import { parseArgs } from 'node:util';
import { runDryRun } from './release/dry-run/run-dry-run.ts';
import { runNextVersion } from './release/next-version.ts';
import { runVersions } from './release/versions/run-versions.ts';
import { runParts } from './testing/run-parts.ts';
import { createTestsPart } from './testing/tests-part.ts';

const { values } = parseArgs({ options: { counts: { type: 'string' } } });
const versions = { name: 'versions', run: () => runVersions({}) };
const dryRun = { name: 'dry run', run: runDryRun };
const nextVersion = { name: 'next version', run: runNextVersion };
const long = createTestsPart({ projects: ['long'] });
// Beside each other, since clusters mostly wait for nodes that are held for dead. They measure how soon a server takes over, so few files run at once.
const cluster = createTestsPart({ projects: ['cluster'] });
const release = createTestsPart({ projects: ['release'] });
const groups = [[versions], [long], [cluster, release, dryRun, nextVersion]];
const isGreen = await runParts(groups, { countsFile: values.counts });
process.exit(isGreen ? 0 : 1);
