import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

/** `skerry snapshot delete ID…`: exits with 1 when one of them was not there, or is in use. */
export function deleteSnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('delete')
      .description('delete snapshots')
      .argument('<id...>', 'ids or names of the snapshots'),
  ).action(async (ids: string[], flags: Parameters<typeof resolveConnection>[0]) => {
    const connection = resolveConnection(flags);
    await forEach(ids, async (id) => {
      if (await Sandbox.deleteSnapshot(id, connection)) return;
      process.stderr.write(`skerry: no snapshot ${id}\n`);
      process.exitCode = 1;
    });
  });
}
