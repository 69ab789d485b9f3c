import { nodes } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { toTable } from '../../table.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry node drain NAME`: exits with 1 while something is on the node. */
export function drainNodeCommand(): Command {
  return withConnectionFlags(
    new Command('drain')
      .description(
        'place no new sandboxes on a node, and list what is still on it: nothing can be moved yet, so wait for its end or end it',
      )
      .argument('<node>', 'name of the node')
      .option('--json', 'one JSON object'),
  ).action(async (name: string, { json, ...flags }: Flags) => {
    const { node, remaining } = await nodes.drain({ ...(await resolveConnection(flags)), name });
    const { snapshots } = node.load;
    if (remaining.length > 0 || snapshots > 0) process.exitCode = 1;
    if (json) {
      process.stdout.write(`${JSON.stringify({ node: name, remaining, snapshots })}\n`);
      return;
    }
    if (remaining.length > 0)
      process.stdout.write(
        toTable(
          ['ID', 'STATE'],
          remaining.map(({ sandboxId, state }) => [sandboxId, state]),
        ),
      );
    if (snapshots > 0) process.stdout.write(`${snapshots} snapshots are on the node and on no other\n`);
    if (process.exitCode !== 1) process.stdout.write(`nothing is on ${name}: it can be stopped\n`);
  });
}
