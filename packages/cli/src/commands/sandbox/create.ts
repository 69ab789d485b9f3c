import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';
import { parseDuration } from '../parse-duration.ts';
import { parseEnvironment, parseMetadata } from './parse-pairs.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  timeout?: number;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  internet: boolean;
  json?: boolean;
};

/** `skerry sandbox create [TEMPLATE]`: prints the id of the new sandbox. */
export function createSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('create a sandbox and print its id')
      .argument('[template]', 'template to create it from', 'base')
      .option(
        '--timeout <time>',
        'time to live, such as 90s, 10m or 1h, at most 24h (default: 5m)',
        parseDuration,
      )
      .option('-e, --env <name=value>', 'variable of every command in it, may be repeated', parseEnvironment)
      .option('--metadata <key=value>', 'metadata, may be repeated', parseMetadata)
      .option('--no-internet', 'block all outgoing connections')
      .option('--json', 'one JSON object, that of `sandbox info`'),
  ).action(async (template: string, flags: Flags) => {
    const sandbox = await Sandbox.create({
      ...(await resolveConnection(flags)),
      template,
      ...(flags.timeout !== undefined ? { timeoutMs: flags.timeout * 1000 } : {}),
      ...(flags.env ? { envs: flags.env } : {}),
      ...(flags.metadata ? { metadata: flags.metadata } : {}),
      ...(flags.internet ? {} : { allowInternetAccess: false }),
    });
    if (flags.json) printJson(await sandbox.getInfo());
    else printLine(sandbox.sandboxId);
  });
}
