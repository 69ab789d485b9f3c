import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { forEach } from '../for-each.ts';
import { parseTimeToLive } from '../parse-duration.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { timeout?: number; json?: boolean };

/** `skerry sandbox resume ID…`: does not change running ones; exits with 1 when a sandbox could not be resumed. */
export function resumeSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('resume')
      .description('make sure that sandboxes run')
      .argument('<id...>', 'ids of the sandboxes')
      .option(
        '--timeout <time>',
        'time to live, at most 24h (default: as long as before, and at least 5m)',
        parseTimeToLive,
      )
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], flags: Flags) => {
    const { connection, ...found } = await findReferences('sandbox', ids, flags);
    const timeout = flags.timeout === undefined ? {} : { timeoutMs: flags.timeout * 1000 };
    await forEach({
      ids: found.ids,
      act: (id) => Sandbox.connect(id, { ...connection, ...timeout }),
      kind: 'sandbox',
      toJson: flags.json && (() => ({ state: 'running' })),
    });
  });
}
