import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry key create NAME`: prints the key, once. */
export function createKeyCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('create a key for one program; it is shown only now')
      .argument('<name>', 'what the key is for')
      .option('--json', 'one JSON object'),
  ).action(async (name: string, { json, ...flags }: Flags) => {
    const created = await apiKeys.create({ ...(await resolveConnection(flags)), name });
    if (json) printJson(created);
    else printLine(created.key);
  });
}
