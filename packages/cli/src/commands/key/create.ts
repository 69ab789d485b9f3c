import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  project?: string;
  readOnly?: boolean;
  json?: boolean;
};

/** `skerry key create NAME`: prints the key, once. */
export function createKeyCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('create a key for one program; it is shown only now')
      .argument('<name>', 'what the key is for')
      .option('--project <name>', 'the only project whose sandboxes, snapshots and templates it reaches')
      .option('--read-only', 'it lists and reads, and changes nothing')
      .option('--json', 'one JSON object'),
  ).action(async (name: string, { json, project, readOnly, ...flags }: Flags) => {
    const created = await apiKeys.create({ ...(await resolveConnection(flags)), name, project, readOnly });
    if (json) printJson(created);
    else printLine(created.key);
  });
}
