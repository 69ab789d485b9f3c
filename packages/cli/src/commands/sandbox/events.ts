import type { LogEntry, LogLevel } from '@skerry/sdk';
import { Command, Option } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';
import { isOfHelper, isOutput, readLog } from './read-log.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  follow?: boolean;
  level?: LogLevel;
  search?: string;
  all?: boolean;
  json?: boolean;
};

/**
 * `skerry sandbox events ID`: one line for each event, the oldest first. With `--follow` it prints new ones until the
 * sandbox ends.
 */
export function sandboxEventsCommand(): Command {
  return withConnectionFlags(
    new Command('events')
      .description('show what has happened to a sandbox: starts, pauses, its end, processes, failed uploads')
      .argument('<id>', 'id of the sandbox')
      .option('-f, --follow', 'print new events until the sandbox ends')
      .addOption(
        new Option('--level <level>', 'the lowest level').choices(['debug', 'info', 'warn', 'error']),
      )
      .option('--search <text>', 'only events that contain this text, case-sensitive')
      .option('--all', 'also those of commands that skerry runs for its own purpose')
      .option('--json', 'one JSON object a line'),
  ).action(async (id: string, { all, json, ...flags }: Flags) => {
    const { connection, ...found } = await findReference('sandbox', id, flags);
    for await (const entry of readLog(found.id, flags, connection)) {
      if (isOutput(entry) || (isOfHelper(entry) && !all)) continue;
      if (json) printJson(entry);
      else printLine(toLine(entry));
    }
  });
}

function toLine({ timestamp, level, logger, message, fields }: LogEntry): string {
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [timestamp.toISOString(), level.padEnd(5), logger, message, ...rest].join('  ');
}
