import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../connection.ts';
import { printJson, printLine, printLines } from '../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry status`: the server that commands talk to, and how many sandboxes it has; exits with 1 when it does not answer. */
export function statusCommand({ version }: { version: string }): Command {
  return withConnectionFlags(
    new Command('status')
      .description('show the server that commands talk to, and how many sandboxes it has')
      .option('--json', 'one JSON object'),
  ).action(async ({ json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    const counts = { running: 0, paused: 0 };
    for await (const { state } of Sandbox.list(connection)) counts[state] += 1;
    const { apiUrl, domain } = connection;
    if (json) {
      printJson({ apiUrl, domain, ...counts, version });
      return;
    }
    printLine(`skerry answers at ${apiUrl}`);
    printLines([
      '',
      `sandboxes  ${counts.running} running, ${counts.paused} paused`,
      ...(domain === undefined ? [] : [`domain     ${new URL(apiUrl).protocol}//{port}-{id}.${domain}`]),
      `command    skerry ${version}`,
      '',
      'eval "$(skerry env)" sets its address and key for programs in this shell',
    ]);
  });
}
