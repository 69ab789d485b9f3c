// A server with nodes, each in a network namespace: the short tests, which `npm test` runs as well, and the long ones of `pnpm test:more`. Needs root and
// the built packages. Ends with the counts alone on a line. With --minutes, random faults for so long, and no test.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { runParts } from './testing/run-parts.ts';
import { createTestsPart } from './testing/tests-part.ts';

const argv = process.argv.slice(2);
if (argv.length > 0) {
  const program = join(import.meta.dirname, '../packages/testkit/src/cluster/random/main.ts');
  const { status } = spawnSync(process.execPath, [program, ...argv], { stdio: 'inherit' });
  process.exit(status ?? 1);
}
const tests = createTestsPart({ projects: ['stack', 'cluster'], paths: ['packages/testkit/src/cluster/'] });
const isGreen = await runParts([[tests]]);
process.exit(isGreen ? 0 : 1);
