// A rolling upgrade of a cluster, as scripts/test-versions.ts runs it: node main.ts --before SKERRY --now SKERRY --first nodes|servers
import { parseArgs } from 'node:util';
import { runUpgrade } from './run-upgrade.ts';

const { values } = parseArgs({
  options: { before: { type: 'string' }, now: { type: 'string' }, first: { type: 'string' } },
});
const { before, now, first } = values;
if (before === undefined || now === undefined) throw new Error('--before and --now name two programs');
if (first !== 'nodes' && first !== 'servers') throw new Error(`--first takes nodes or servers, got ${first}`);
await runUpgrade({ before, now, first, onProgress: (what) => console.log(`     ${what}`) });
process.exit(0);
