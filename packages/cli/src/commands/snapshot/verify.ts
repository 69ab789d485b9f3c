import { snapshots } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { printLines } from '../../output/print.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry snapshot verify ID…`: exits with 1 when a snapshot has changed since it was made. */
export function verifySnapshotCommand(): Command {
  return withConnectionFlags(
    new Command('verify')
      .description('read whole snapshots, and report files that have changed since they were made')
      .argument('<id...>', 'ids or names of the snapshots')
      .option('--json', 'one JSON object a line'),
  ).action(async (texts: string[], { json, ...flags }: Flags) => {
    const { ids, connection } = await findReferences('snapshot', texts, flags);
    const act = async (id: string): Promise<string[]> => {
      const problems = await snapshots.verify(id, connection);
      if (problems.length > 0) process.exitCode = 1;
      const lines =
        problems.length > 0 ? problems.map((problem) => `DAMAGED ${id}: ${problem}`) : [`ok  ${id}`];
      if (!json) printLines(lines);
      return problems;
    };
    await forEach({
      ids,
      act,
      kind: 'snapshot',
      toJson: json && ((problems) => ({ problems })),
    });
  });
}
