import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { removeEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry key revoke ID…`: exits with 1 when a key did not exist. */
export function revokeKeysCommand(): Command {
  return withConnectionFlags(
    new Command('revoke')
      .description('revoke keys: every server refuses them from then on')
      .argument('<id...>', 'ids of the keys')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    await removeEach({
      ids,
      remove: (id) => apiKeys.revoke(id, connection),
      kind: 'key',
      verb: 'revoked',
      json,
    });
  });
}
