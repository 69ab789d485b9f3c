import { setTimeout as sleep } from 'node:timers/promises';
import { nodes } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine, printLines } from '../../output/print.ts';
import { toTable } from '../../table.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

const ASK_INTERVAL_MS = 1_000;

/** `skerry node drain NAME`: waits while sandboxes are moved; exits with 1 while something is on the node then. */
export function drainNodeCommand(): Command {
  return withConnectionFlags(
    new Command('drain')
      .description(
        'place no new sandboxes on a node, move what is on it to others where the server has a blob store, and list what is left',
      )
      .argument('<node>', 'name of the node')
      .option('--json', 'one JSON object'),
  ).action(async (name: string, { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    let drained = await nodes.drain({ ...connection, name });
    while (drained.moving) {
      await sleep(ASK_INTERVAL_MS);
      drained = await nodes.drain({ ...connection, name });
    }
    const { node, remaining } = drained;
    const { snapshots } = node.load;
    if (remaining.length > 0 || snapshots > 0) process.exitCode = 1;
    if (json) {
      printJson({ node: name, remaining, snapshots });
      return;
    }
    if (remaining.length > 0)
      printLines(
        toTable(
          ['ID', 'STATE', 'WHY'],
          remaining.map(({ sandboxId, state, problem }) => [sandboxId, state, problem ?? '']),
        ),
      );
    if (snapshots > 0) printLine(`${snapshots} snapshots are on the node and on no other`);
    if (process.exitCode !== 1) printLine(`nothing is on ${name}: it can be stopped`);
  });
}
