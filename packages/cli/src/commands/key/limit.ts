import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { type LimitFlags, splitLimits, withLimitOptions } from './limit-options.ts';

type Flags = Parameters<typeof resolveConnection>[0] & LimitFlags;

/** `skerry key limit ID`: replaces all limits of a key. */
export function limitKeyCommand(): Command {
  return withConnectionFlags(
    withLimitOptions(
      new Command('limit')
        .description('replace the limits of a key; without options it has none')
        .argument('<id>', 'id of the key'),
    ),
  ).action(async (id: string, flags: Flags) => {
    const { limits, rest } = splitLimits(flags);
    await apiKeys.setLimits(id, limits, await resolveConnection(rest));
  });
}
