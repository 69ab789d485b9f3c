import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
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
    const { connection, ...found } = await findReferences('sandbox', ids, flags);
    const options = { ...connection, ...(flags.memory ? {} : { memory: false }) };
    await forEach({
      ids: found.ids,
      act: (id) => Sandbox.pause(id, options),
      kind: 'sandbox',
      toJson: flags.json && (() => ({ state: 'paused' })),
    });
  });
}
