import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { name?: string; memory: boolean };

/** `skerry snapshot create SANDBOX`: prints the id of the snapshot. */
export function createSnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('capture a sandbox, which goes on')
      .argument('<sandbox>', 'id of the sandbox')
      .option('--name <name>', 'name that leads to it, as in prepared:v1')
      .option('--no-memory', 'capture the files only'),
  ).action(async (sandboxId: string, flags: Flags) => {
    const { snapshotId } = await Sandbox.createSnapshot(sandboxId, {
      ...resolveConnection(flags),
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.memory ? {} : { memory: false }),
    });
    process.stdout.write(`${snapshotId}\n`);
  });
}
