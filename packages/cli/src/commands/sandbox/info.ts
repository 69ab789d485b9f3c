import { Sandbox, type SandboxInfo } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLines } from '../../output/print.ts';
import { toAge } from '../../table.ts';

/** `skerry sandbox info ID`: what the service says of one sandbox, which stays as it is. */
export function sandboxInfoCommand(): Command {
  return withConnectionFlags(
    new Command('info')
      .description('show one sandbox; a paused one stays paused')
      .argument('<id>', 'id of the sandbox')
      .option('--json', 'one JSON object'),
  ).action(async (id: string, flags: Parameters<typeof resolveConnection>[0] & { json?: boolean }) => {
    const found = await findReference('sandbox', id, flags);
    const info = await Sandbox.getInfo(found.id, found.connection);
    if (flags.json) {
      printJson(info);
      return;
    }
    const lines = [
      ['id', info.sandboxId],
      ['template', info.alias ?? info.templateId],
      ['state', info.state],
      ['started', `${info.startedAt.toISOString()}, ${toAge(Date.now() - +info.startedAt)} ago`],
      ['ends', toEnd(info)],
      ['cpu', String(info.cpuCount)],
      ['memory', `${info.memoryMiB} MiB`],
      ['disk', `${info.diskSizeMiB} MiB`],
      ...Object.entries(info.metadata).map(([key, value]) => ['metadata', `${key}=${value}`]),
    ];
    printLines(lines.map(([name = '', value]) => `${name.padEnd(10)}${value}`));
  });
}

function toEnd({ state, endAt, onEnd }: SandboxInfo): string {
  if (state === 'paused') return 'never while paused';
  const what = onEnd === 'pause' ? 'and is paused then' : 'and is removed then';
  return `${endAt.toISOString()}, in ${toAge(+endAt - Date.now())}, ${what}`;
}
