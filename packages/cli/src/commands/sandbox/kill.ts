import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printLine, report } from '../../output/print.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { all?: boolean; json?: boolean };

/** `skerry sandbox kill ID…`: exits with 1 when a sandbox did not exist. */
export function killSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('kill')
      .description('end sandboxes and delete what they hold')
      .argument('[id...]', 'ids of the sandboxes')
      .option('--all', 'every sandbox of the API key, paused ones too; prints their ids')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { all, json, ...flags }: Flags) => {
    if (all ? ids.length > 0 : ids.length === 0) throw new CliError('name the sandboxes, or give --all');
    const connection = await resolveConnection(flags);
    const kill = (id: string): Promise<boolean> => Sandbox.kill(id, connection);
    const printed = json
      ? { key: 'sandboxId' as const, toFields: (killed: boolean) => ({ killed }) }
      : undefined;
    if (!all) {
      const act = async (id: string): Promise<boolean> => {
        const killed = await kill(id);
        if (!killed) process.exitCode = 1;
        if (!killed && !json) report(`no sandbox ${id}`);
        return killed;
      };
      await forEach({ ids, act, json: printed });
      return;
    }
    const found: string[] = [];
    for await (const { sandboxId } of Sandbox.list(connection)) found.push(sandboxId);
    const act = async (id: string): Promise<boolean> => {
      // A sandbox that has ended meanwhile counts as killed.
      const killed = await kill(id);
      if (killed && !json) printLine(id);
      return killed;
    };
    await forEach({ ids: found, act, json: printed });
  });
}
