import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  name?: string;
  memory: boolean;
  json?: boolean;
};

/** `skerry snapshot create SANDBOX`: prints the id of the snapshot. */
export function createSnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('capture a sandbox, which keeps running')
      .argument('<sandbox>', 'id of the sandbox')
      .option('--name <name>', 'name of the snapshot, such as prepared:v1')
      .option('--no-memory', 'capture the files only')
      .option('--json', 'one JSON object'),
  ).action(async (sandboxId: string, flags: Flags) => {
    const { id, connection } = await findReference('sandbox', sandboxId, flags);
    const snapshot = await Sandbox.createSnapshot(id, {
      ...connection,
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.memory ? {} : { memory: false }),
    });
    if (flags.json) printJson(snapshot);
    else printLine(snapshot.snapshotId);
  });
}
