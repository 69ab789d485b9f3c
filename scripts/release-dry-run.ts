import { runDryRun } from './release/dry-run/run-dry-run.ts';
import { runParts } from './testing/run-parts.ts';

const isGreen = await runParts([[{ name: 'dry run', run: runDryRun }]]);
process.exit(isGreen ? 0 : 1);
