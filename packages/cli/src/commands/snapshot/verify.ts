import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

/** `skerry snapshot verify ID…`: exits with 1 when one of them is not as it was when it was made. */
export function verifySnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('verify')
      .description('read snapshots whole, and say what is not as it was')
      .argument('<id...>', 'ids or names of the snapshots'),
  ).action(async (ids: string[], flags: Parameters<typeof resolveConnection>[0]) => {
    const connection = resolveConnection(flags);
    await forEach(ids, async (id) => {
      const problems = await Sandbox.verifySnapshot(id, connection);
      if (problems.length > 0) process.exitCode = 1;
      const lines =
        problems.length > 0 ? problems.map((problem) => `DAMAGED ${id}: ${problem}`) : [`ok  ${id}`];
      process.stdout.write(`${lines.join('\n')}\n`);
    });
  });
}
