import { Sandbox, type SandboxInfo, type SandboxState } from '@skerry/sdk';
import { Command, Option } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine, printLines } from '../../output/print.ts';
import { toAge, toTable } from '../../table.ts';
import { parseMetadata } from '../parse-pairs.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  state?: SandboxState;
  metadata?: Record<string, string>;
  json?: boolean;
  quiet?: boolean;
};

const HEAD = ['ID', 'TEMPLATE', 'STATE', 'AGE', 'ENDS IN', 'METADATA'];

/** `skerry sandbox list`: a table, or with `--json` one JSON object a line, which needs no memory for the rest. */
export function listSandboxesCommand({ name = 'list', alias = 'ls' } = {}): Command {
  return withConnectionFlags(
    new Command(name)
      .alias(alias)
      .description('list sandboxes, newest first')
      .addOption(new Option('--state <state>', 'only those in this state').choices(['running', 'paused']))
      .option('--metadata <key=value>', 'only those with this pair, may be repeated', parseMetadata)
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'ids only'),
  ).action(async ({ state, metadata, json, quiet, ...flags }: Flags) => {
    const filter = { metadata, ...(state === undefined ? {} : { state: [state] }) };
    const rows: string[][] = [];
    for await (const sandbox of Sandbox.list({ ...(await resolveConnection(flags)), ...filter })) {
      if (json) printJson(sandbox);
      else if (quiet) printLine(sandbox.sandboxId);
      else rows.push(toRow(sandbox));
    }
    if (!json && !quiet) printLines(toTable(HEAD, rows));
  });
}

function toRow({ sandboxId, alias, templateId, state, startedAt, endAt, metadata }: SandboxInfo): string[] {
  const endsIn = state === 'paused' ? '-' : toAge(+endAt - Date.now());
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
  return [sandboxId, alias ?? templateId, state, toAge(Date.now() - +startedAt), endsIn, pairs.join(' ')];
}
