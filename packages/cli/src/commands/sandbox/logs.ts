import type { LogEntry } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';
import { isOutput, readLog } from './read-log.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  follow?: boolean;
  timestamps?: boolean;
  search?: string;
  json?: boolean;
};

/** `skerry sandbox logs ID`: what programs have printed, a line each, the oldest first. */
export function sandboxLogsCommand(): Command {
  return withConnectionFlags(
    new Command('logs')
      .summary('show what programs in a sandbox have printed')
      .description('show what the start command and commands in the background have printed')
      .argument('<id>', 'id of the sandbox')
      .option('-f, --follow', 'print new lines until the sandbox ends')
      .option('-t, --timestamps', 'print the time and the pid of the command in front of each line')
      .option('--search <text>', 'only lines that contain this text, case-sensitive')
      .option('--json', 'one JSON object a line')
      .addHelpText(
        'after',
        `
A command in the background is always there, another one while no client reads its output. The last lines are kept,
until a week after the end of the sandbox. "skerry sandbox events" shows what happened to it and to its processes.`,
      ),
  ).action(async (id: string, { timestamps, json, ...flags }: Flags) => {
    const { connection, ...found } = await findReference('sandbox', id, flags);
    for await (const entry of readLog(found.id, flags, connection)) {
      if (!isOutput(entry)) continue;
      if (json) printJson(entry);
      else printLine(timestamps ? toTimedLine(entry) : entry.message);
    }
  });
}

const toTimedLine = ({ timestamp, message, fields }: LogEntry): string =>
  `${timestamp.toISOString()}  ${fields.pid ?? '-'}  ${message}`;
