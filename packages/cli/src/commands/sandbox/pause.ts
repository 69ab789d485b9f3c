import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { memory: boolean; json?: boolean };

/** `skerry sandbox pause ID…`: exits with 1 when a sandbox could not be paused. */
export function pauseSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('pause')
      .description('write sandboxes to disk and stop them')
      .argument('<id...>', 'ids of the sandboxes')
      .option('--no-memory', 'keep the files only')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], flags: Flags) => {
    const options = { ...(await resolveConnection(flags)), ...(flags.memory ? {} : { memory: false }) };
    await forEach({
      ids,
      act: (id) => Sandbox.pause(id, options),
      json: flags.json ? { key: 'sandboxId', toFields: () => ({ state: 'paused' }) } : undefined,
    });
  });
}
