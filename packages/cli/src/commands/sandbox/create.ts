import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { parseMetadata } from './parse-metadata.ts';
import { parseSeconds } from './parse-seconds.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  timeout?: number;
  metadata?: Record<string, string>;
  internet: boolean;
};

/** `skerry sandbox create [TEMPLATE]`: prints the id of the new sandbox. */
export function createSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('create a sandbox and print its id')
      .argument('[template]', 'template to create it from', 'base')
      .option('--timeout <seconds>', 'how long it lives', parseSeconds)
      .option('--metadata <key=value>', 'metadata, may be repeated', parseMetadata)
      .option('--no-internet', 'give it no way out'),
  ).action(async (template: string, flags: Flags) => {
    const sandbox = await Sandbox.create({
      ...resolveConnection(flags),
      template,
      ...(flags.timeout !== undefined ? { timeoutMs: flags.timeout * 1000 } : {}),
      ...(flags.metadata ? { metadata: flags.metadata } : {}),
      ...(flags.internet ? {} : { allowInternetAccess: false }),
    });
    process.stdout.write(`${sandbox.sandboxId}\n`);
  });
}
