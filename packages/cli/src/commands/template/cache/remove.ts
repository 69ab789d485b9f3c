import { buildCache } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../../connection.ts';
import { report } from '../../../output/print.ts';
import { forEach } from '../../for-each.ts';

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
    const act = async (key: string): Promise<boolean> => {
      const removed = await buildCache.remove(key, connection);
      if (!removed) process.exitCode = 1;
      if (!removed && !json) report(`no result ${key}`);
      return removed;
    };
    await forEach({
      ids,
      act,
      kind: 'result',
      toJson: json && ((removed) => ({ removed })),
    });
  });
}
