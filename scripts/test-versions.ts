// Clients of the last release, or of the revision that --against names, with a server of this checkout, and the reverse. Needs root.
import { parseArgs } from 'node:util';
import { runVersions } from './release/versions/run-versions.ts';
import { runParts } from './testing/run-parts.ts';

const { values } = parseArgs({ options: { against: { type: 'string' } } });
const isGreen = await runParts([[{ name: 'versions', run: () => runVersions(values) }]]);
process.exit(isGreen ? 0 : 1);
