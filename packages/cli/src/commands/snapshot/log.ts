import { snapshots } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry snapshot log ID`: the snapshot and its ancestors, one a line, the newest first. */
export function logSnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('log')
      .description('show the ancestors of a snapshot')
      .argument('<id>', 'id or name of the snapshot')
      .option('--json', 'one JSON object a line'),
  ).action(async (text: string, flags: Flags) => {
    const { id, connection } = await findReference('snapshot', text, flags);
    for (const entry of await snapshots.log(id, connection)) {
      const { buildId, snapshotId, sandboxId, createdAt, state } = entry;
      if (flags.json) printJson(entry);
      else
        printLine(`${buildId}  ${createdAt.toISOString()}  of ${sandboxId}  ${state}  ${snapshotId ?? ''}`);
    }
  });
}
