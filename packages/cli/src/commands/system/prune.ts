import { createInterface } from 'node:readline/promises';
import { storage } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { formatBytes } from '../../output/format-bytes.ts';
import { printJson, printLine, printLines } from '../../output/print.ts';
import { toTable } from '../../table.ts';
import { withNodeColumn } from './node-column.ts';
import { toTitle } from './to-title.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  all?: boolean;
  force?: boolean;
  json?: boolean;
  quiet?: boolean;
};

const USUAL = 'uploaded files that no build needs, logs of builds without a tag, and files without a record';

/** `skerry system prune`: asks before anything is removed, unless `--force` is given. */
export function pruneStorageCommand(): Command {
  return withConnectionFlags(
    new Command('prune')
      .description(`remove ${USUAL}`)
      .option(
        '--all',
        'also the cache of builds, and built templates that no sandbox, snapshot or build uses',
      )
      .option('-f, --force', 'do not ask')
      .option('--json', 'one JSON object')
      .option('-q, --quiet', 'the names of the removed templates only'),
  ).action(async ({ all = false, force, json, quiet, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    if (!force && !(await confirm(all))) return;
    const { templates, removed } = await storage.prune({ ...connection, all });
    if (json) {
      printJson({ templates, removed });
      return;
    }
    if (quiet) {
      printLines(templates.map((name) => name));
      return;
    }
    for (const name of templates) printLine(`deleted template ${name}`);
    const toRow = ({ kind, count, sizeBytes }: (typeof removed)[number]): string[] => [
      toTitle(kind),
      String(count),
      formatBytes(sizeBytes),
    ];
    const table = withNodeColumn(removed, { head: ['REMOVED', 'COUNT', 'SIZE'], toRow });
    printLines(removed.length === 0 ? ['nothing to remove'] : toTable(...table));
  });
}

/** Rejects with `UserError` where there is no terminal to ask on. */
async function confirm(all: boolean): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UserError('this asks before it removes anything: give --force where there is no terminal');
  const what = all ? `${USUAL}, the cache of builds, and all built templates that nothing uses` : USUAL;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`This removes ${what}. Continue? [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
