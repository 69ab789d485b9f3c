import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';
import { parsePort } from '../parse-port.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry sandbox url ID PORT`: the URL under which a port of the sandbox is reached. */
export function sandboxUrlCommand(): Command {
  return withConnectionFlags(
    new Command('url')
      .description('print the URL of a port of a sandbox')
      .argument('<id>', 'id of the sandbox; a paused one is resumed')
      .argument('<port>', 'port that a program in it listens on', parsePort)
      .option('--json', 'one JSON object'),
  ).action(async (id: string, port: number, flags: Flags) => {
    const found = await findReference('sandbox', id, flags);
    const sandbox = await Sandbox.connect(found.id, found.connection);
    const url = sandbox.getUrl(port);
    if (flags.json) printJson({ sandboxId: sandbox.sandboxId, port, url });
    else printLine(url);
  });
}
