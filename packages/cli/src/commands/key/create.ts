import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';
import { type LimitFlags, splitLimits, withLimitOptions } from './limit-options.ts';

type Flags = Parameters<typeof resolveConnection>[0] &
  LimitFlags & {
    project?: string;
    readOnly?: boolean;
    json?: boolean;
  };

/** `skerry key create NAME`: prints the key, once. */
export function createKeyCommand(): Command {
  return withConnectionFlags(
    withLimitOptions(
      new Command('create')
        .description('create a key for one program; it is shown only now')
        .argument('<name>', 'what the key is for')
        .option('--project <name>', 'the only project whose sandboxes, snapshots and templates it reaches')
        .option('--read-only', 'it lists and reads, and changes nothing'),
    ).option('--json', 'one JSON object'),
  ).action(async (name: string, { json, project, readOnly, ...flags }: Flags) => {
    const { limits, rest } = splitLimits(flags);
    const connection = await resolveConnection(rest);
    const created = await apiKeys.create({ ...connection, name, project, readOnly, limits });
    if (json) printJson(created);
    else printLine(created.key);
  });
}
