import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, type LogEntry, type LogLevel, Sandbox } from '@skerry/sdk';
import { Command, Option } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  follow?: boolean;
  json?: boolean;
  level?: LogLevel;
  search?: string;
};

const PAGE_ENTRIES = 1000;
const FOLLOW_MS = 1_000;

/**
 * `skerry sandbox logs ID`: one line for each entry, the oldest first. With `--follow` it prints new entries until the
 * sandbox ends.
 */
export function sandboxLogsCommand(): Command {
  return withConnectionFlags(
    new Command('logs')
      .description('show the log of a sandbox')
      .argument('<id>', 'id of the sandbox')
      .option('-f, --follow', 'print new entries until the sandbox ends')
      .addOption(
        new Option('--level <level>', 'the lowest level').choices(['debug', 'info', 'warn', 'error']),
      )
      .option('--search <text>', 'only entries that contain this text, case-sensitive')
      .option('--json', 'one JSON object a line'),
  ).action(async (id: string, flags: Flags) => {
    for await (const entry of readLog(id, flags, await resolveConnection(flags))) {
      if (flags.json) printJson(entry);
      else printLine(toLine(entry));
    }
  });
}

async function* readLog(
  id: string,
  { follow = false, level, search }: Flags,
  connection: ConnectionOptions,
): AsyncGenerator<LogEntry> {
  let from = new Date(0);
  // A page begins with the millisecond of the last entry of the previous one.
  let seen = new Set<string>();
  for (;;) {
    const page = await Sandbox.getLogs(id, { ...connection, from, direction: 'forward', level, search });
    const fresh = page.filter((entry) => !seen.has(JSON.stringify(entry)));
    yield* fresh;
    if (fresh.some(isEnd)) return;
    const last = page.at(-1)?.timestamp ?? from;
    const newest = page.filter(({ timestamp }) => +timestamp === +last);
    seen = new Set(newest.map((entry) => JSON.stringify(entry)));
    from = last;
    // A full page with nothing new is one long millisecond, the last.
    if (page.length >= PAGE_ENTRIES && fresh.length > 0) continue;
    if (!follow) return;
    await delay(FOLLOW_MS);
  }
}

function isEnd({ logger, fields }: LogEntry): boolean {
  return logger === 'platform' && fields.cause !== undefined;
}

function toLine({ timestamp, level, logger, message, fields }: LogEntry): string {
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [timestamp.toISOString(), level.padEnd(5), logger, message, ...rest].join('  ');
}
