// A server with nodes, each in a network namespace: the short tests, which `npm test` runs as well, and the long ones. Needs root and
// the built packages. Ends with the counts alone on a line.
import { runParts } from './testing/run-parts.ts';
import { runTests } from './testing/run-tests.ts';

const isGreen = await runParts([[{ name: 'tests', run: () => runTests(['cluster']) }]]);
process.exit(isGreen ? 0 : 1);
