import { type ConnectionOptions, NotFoundError, Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { printLine, report } from '../../output/print.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { all?: boolean; json?: boolean };

/** `skerry sandbox kill ID…`: exits with 1 when a sandbox did not exist. */
export function killSandboxCommand({ name = 'kill', alias = 'rm' } = {}): Command {
  return withConnectionFlags(
    new Command(name)
      .alias(alias)
      .description('end sandboxes and delete what they hold')
      .argument('[id...]', 'ids of the sandboxes')
      .option('--all', 'every sandbox of the API key, paused ones too; prints their ids')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { all, json, ...flags }: Flags) => {
    if (all ? ids.length > 0 : ids.length === 0) throw new UserError('name the sandboxes, or give --all');
    const { connection, ids: named } = await findReferences('sandbox', ids, flags);
    const toJson = json ? (killed: boolean) => ({ killed }) : undefined;
    if (!all) {
      const act = async (id: string): Promise<boolean> => {
        const killed = await Sandbox.kill(id, connection);
        if (!killed) process.exitCode = 1;
        if (!killed && !json) report(await explainMissing(id, connection));
        return killed;
      };
      await forEach({ ids: named, act, kind: 'sandbox', toJson });
      return;
    }
    const found: string[] = [];
    for await (const { sandboxId } of Sandbox.list(connection)) found.push(sandboxId);
    const act = async (id: string): Promise<boolean> => {
      // A sandbox that has ended meanwhile counts as killed.
      const killed = await Sandbox.kill(id, connection);
      if (killed && !json) printLine(id);
      return killed;
    };
    await forEach({ ids: found, act, kind: 'sandbox', toJson });
  });
}

/** What the service says of a sandbox that it does not have any more. */
async function explainMissing(id: string, connection: ConnectionOptions): Promise<string> {
  try {
    await Sandbox.getInfo(id, connection);
  } catch (error) {
    if (error instanceof NotFoundError) return error.message;
    throw error;
  }
  return `no sandbox ${id}`;
}
