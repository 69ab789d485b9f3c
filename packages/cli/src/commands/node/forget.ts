import { nodes } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry node forget NAME…`: exits with 1 when one answers or does not exist. */
export function forgetNodesCommand(): Command {
  return withConnectionFlags(
    new Command('forget')
      .description('end what is on nodes that do not come back, as lost, and delete their records')
      .argument('<node...>', 'names of the nodes')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    await forEach({
      ids,
      act: (name) => nodes.forget({ ...connection, name }),
      json: json ? { key: 'node', toFields: () => ({ forgotten: true }) } : undefined,
    });
  });
}
