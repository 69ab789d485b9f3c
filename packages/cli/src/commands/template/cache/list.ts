import { buildCache } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../../connection.ts';
import { showResults } from './show-results.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; quiet?: boolean };

/** `skerry template cache list`: a table, or one JSON object or key a line. */
export function listCacheCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .alias('ls')
      .description('list the results, with the space that each takes and the time since its last use')
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'keys only'),
  ).action(async ({ json, quiet, ...flags }: Flags) =>
    showResults(await buildCache.list(await resolveConnection(flags)), { json, quiet }),
  );
}
