import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

/** `skerry sandbox list`: one line a sandbox, or one JSON object a line. */
export function listSandboxesCommand(): Command {
  return withConnectionFlags(
    new Command('list').description('list sandboxes').option('--json', 'one JSON object a line'),
  ).action(async (flags: Parameters<typeof resolveConnection>[0] & { json?: boolean }) => {
    for await (const sandbox of Sandbox.list(resolveConnection(flags))) {
      process.stdout.write(
        flags.json
          ? `${JSON.stringify(sandbox)}\n`
          : `${sandbox.sandboxId}  ${sandbox.state}  ${sandbox.templateId}  ends ${sandbox.endAt.toISOString()}\n`,
      );
    }
  });
}
