import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

/** `skerry key rename ID NAME`. */
export function renameKeyCommand(): Command {
  return withConnectionFlags(
    new Command('rename')
      .description('change the name of a key')
      .argument('<id>', 'id of the key')
      .argument('<name>', 'its new name'),
  ).action(async (id: string, name: string, flags: Parameters<typeof resolveConnection>[0]) => {
    await apiKeys.rename(id, name, await resolveConnection(flags));
  });
}
