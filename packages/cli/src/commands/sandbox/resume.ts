import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';
import { parseSeconds } from './parse-seconds.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { timeout?: number };

/** `skerry sandbox resume ID…`: leaves running ones alone; exits with 1 when one of them could not be resumed. */
export function resumeSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('resume')
      .description('make sure that sandboxes run')
      .argument('<id...>', 'ids of the sandboxes')
      .option('--timeout <seconds>', 'how long they live', parseSeconds),
  ).action(async (ids: string[], flags: Flags) => {
    const connection = resolveConnection(flags);
    const timeout = flags.timeout === undefined ? {} : { timeoutMs: flags.timeout * 1000 };
    await forEach(ids, (id) => Sandbox.connect(id, { ...connection, ...timeout }));
  });
}
