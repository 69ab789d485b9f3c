// A server with nodes, each in a network namespace: the short tests, which `npm test` runs as well, and the long ones. Ends with the
// counts alone on a line.
import { runParts } from './testing/run-parts.ts';
import { toProjectParts } from './testing/run-projects.ts';

process.exit((await runParts(toProjectParts(['cluster']))) ? 0 : 1);
