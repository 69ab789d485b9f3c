import { snapshots } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { removeEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry snapshot delete ID…`: exits with 1 when a snapshot did not exist, or is in use. */
export function deleteSnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('delete')
      .description('delete snapshots')
      .argument('<id...>', 'ids or names of the snapshots')
      .option('--json', 'one JSON object a line'),
  ).action(async (texts: string[], { json, ...flags }: Flags) => {
    const { ids, connection } = await findReferences('snapshot', texts, flags);
    await removeEach({
      ids,
      remove: (id) => snapshots.delete(id, connection),
      kind: 'snapshot',
      verb: 'deleted',
      json,
    });
  });
}
