import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

/** `skerry sandbox kill ID…`: exits with 1 when one of them was not there. */
export function killSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('kill').description('end sandboxes').argument('<id...>', 'ids of the sandboxes'),
  ).action(async (ids: string[], flags: Parameters<typeof resolveConnection>[0]) => {
    const connection = resolveConnection(flags);
    for (const id of ids) {
      if (await Sandbox.kill(id, connection)) continue;
      process.stderr.write(`skerry: no sandbox ${id}\n`);
      process.exitCode = 1;
    }
  });
}
