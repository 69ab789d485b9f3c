import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { sandbox?: string; name?: string; json?: boolean };

/** `skerry snapshot list`: one id a line, or one JSON object a line, newest first. */
export function listSnapshotsCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .description('list snapshots, newest first')
      .option('--sandbox <id>', 'only those made of this sandbox')
      .option('--name <name>', 'only those of this name or id')
      .option('--json', 'one JSON object a line'),
  ).action(async ({ sandbox, name, json, ...flags }: Flags) => {
    const filter = { sandboxId: sandbox, name };
    for await (const snapshot of Sandbox.listSnapshots({ ...resolveConnection(flags), ...filter })) {
      process.stdout.write(`${json ? JSON.stringify(snapshot) : snapshot.snapshotId}\n`);
    }
  });
}
