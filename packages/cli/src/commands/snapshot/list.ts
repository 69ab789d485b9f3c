import { NotFoundError, snapshots } from '@skerry/sdk';
import { Command } from 'commander';
import { type Connection, resolveConnection, withConnectionFlags } from '../../connection.ts';
import { completeAll } from '../../find-reference.ts';
import { printJson, printLine, printLines } from '../../output/print.ts';
import { toAge, toTable } from '../../table.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  sandbox?: string;
  name?: string;
  json?: boolean;
  quiet?: boolean;
};

const HEAD = ['ID', 'SANDBOX', 'AGE'];

/** `skerry snapshot list`: a table, newest first, or one JSON object or id a line, which needs no memory for the rest. */
export function listSnapshotsCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .alias('ls')
      .description('list snapshots, newest first')
      .option('--sandbox <id>', 'only snapshots of this sandbox')
      .option('--name <name>', 'the snapshot of this name or id; without a tag the newest')
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'ids only'),
  ).action(async ({ sandbox, name, json, quiet, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    const [sandboxId] = await completeAll(['sandbox'], sandbox === undefined ? [] : [sandbox], connection);
    const [named] = await completeAll(['snapshot'], name === undefined ? [] : [name], connection);
    const rows: string[][] = [];
    for await (const snapshot of snapshots.list({ ...connection, sandboxId, name: named })) {
      if (json) printJson(snapshot);
      else if (quiet) printLine(snapshot.snapshotId);
      else rows.push(...(await toRows(snapshot.snapshotId, connection)));
    }
    if (!json && !quiet) printLines(toTable(HEAD, rows));
  });
}

/** No row for a snapshot that was deleted meanwhile. A listing of the protocol has names alone; its log has the rest. */
async function toRows(snapshotId: string, connection: Connection): Promise<string[][]> {
  try {
    const [entry] = await snapshots.log(snapshotId, connection);
    if (entry === undefined) return [];
    return [[snapshotId, entry.sandboxId, toAge(Date.now() - +entry.createdAt)]];
  } catch (error) {
    if (error instanceof NotFoundError) return [];
    throw error;
  }
}
