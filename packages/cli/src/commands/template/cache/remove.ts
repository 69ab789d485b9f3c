import { buildCache } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../../connection.ts';
import { removeEach } from '../../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry template cache remove KEY…`: exits with 1 when a result did not exist. */
export function removeCachedCommand(): Command {
  return withConnectionFlags(
    new Command('remove')
      .alias('rm')
      .description('remove results, and all that were made on them: the next build runs their steps again')
      .argument('<key...>', 'keys of the results, as in the list and in the log of a build')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    await removeEach({
      ids,
      remove: (id) => buildCache.remove(id, connection),
      kind: 'result',
      verb: 'removed',
      json,
    });
  });
}
