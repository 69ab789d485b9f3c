import { buildCache } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../../connection.ts';
import { parseDuration } from '../../parse-duration.ts';
import { showResults } from './show-results.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  json?: boolean;
  quiet?: boolean;
  unusedFor?: number;
};

/** `skerry template cache prune`: prints what it has removed. */
export function pruneCacheCommand(): Command {
  return withConnectionFlags(
    new Command('prune')
      .description('remove all results, and print them; templates and sandboxes do not change')
      .option(
        '--unused-for <time>',
        'only those that no build has used for so long, such as 24h',
        parseDuration,
      )
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'keys only'),
  ).action(async ({ json, quiet, unusedFor = 0, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    showResults(await buildCache.prune({ ...connection, unusedForMs: unusedFor * 1_000 }), { json, quiet });
  });
}
