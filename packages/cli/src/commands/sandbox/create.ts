import { type IsolationLevel, Sandbox, SandboxError, type SandboxErrorCode } from '@skerry/sdk';
import { Command, Option } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine, report } from '../../output/print.ts';
import { parseTimeToLive } from '../parse-duration.ts';
import { parseEnvironment, parseMetadata } from '../parse-pairs.ts';
import { type CreateOptions, createFrom } from './create-from.ts';
import { isolationOption } from './isolation-option.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  timeout?: number;
  onEnd?: 'pause' | 'kill';
  autoResume?: boolean;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  isolation?: IsolationLevel;
  internet: boolean;
  privatePorts?: boolean;
  json?: boolean;
};

/** `skerry sandbox create [TEMPLATE]`: prints the id of the new sandbox. */
export function createSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('create')
      .description('create a sandbox and print its id')
      .argument('[template]', 'template or snapshot to create it from, or a ready-made template', 'base')
      .option(
        '--timeout <time>',
        'time to live, such as 90s, 10m or 1h, at most 24h (default: 5m)',
        parseTimeToLive,
      )
      .addOption(
        new Option(
          '--on-end <what>',
          'what the end of that time does: pause keeps the sandbox until it is resumed (default: pause, where the server can)',
        ).choices(['pause', 'kill']),
      )
      .option('--auto-resume', 'let the first request to a port of the paused sandbox resume it')
      .option('-e, --env <name=value>', 'variable of every command in it, may be repeated', parseEnvironment)
      .option('--metadata <key=value>', 'metadata, may be repeated', parseMetadata)
      .addOption(isolationOption())
      .option('--no-internet', 'block all outgoing connections')
      .option('--private-ports', 'serve its ports only to requests with its traffic token')
      .option('--json', 'one JSON object, that of `sandbox info`'),
  ).action(async (template: string, flags: Flags) => {
    const options: CreateOptions = {
      ...(await resolveConnection(flags)),
      template,
      ...(flags.timeout !== undefined ? { timeoutMs: flags.timeout * 1000 } : {}),
      ...(flags.env ? { envs: flags.env } : {}),
      ...(flags.metadata ? { metadata: flags.metadata } : {}),
      ...(flags.autoResume ? { autoResume: true } : {}),
      ...(flags.isolation ? { isolation: flags.isolation } : {}),
      ...(flags.internet ? {} : { allowInternetAccess: false }),
      ...(flags.privatePorts ? { allowPublicTraffic: false } : {}),
    };
    const { onEnd } = flags;
    const sandbox =
      onEnd === 'kill'
        ? await createFrom(options)
        : await createFrom(options, (lasting) => createLasting(lasting, onEnd));
    if (flags.json) printJson(await sandbox.getInfo());
    else printLine(sandbox.sandboxId);
  });
}

/** What a server answers that cannot pause in that way on its host. */
const unableCodes: readonly SandboxErrorCode[] = ['invalid_argument', 'unimplemented'];

/**
 * Creates a sandbox that is paused at its end, with its processes where the server can keep them, else with its files. Without a
 * request for that, a server that cannot pause makes one that ends.
 */
async function createLasting(options: CreateOptions, requested: 'pause' | undefined): Promise<Sandbox> {
  const isUnable = (error: unknown): boolean =>
    error instanceof SandboxError && unableCodes.includes(error.code);
  try {
    return await Sandbox.create({ ...options, autoPause: true });
  } catch (first) {
    // Requests resume no sandbox of which only the files are kept.
    if (options.autoResume || !isUnable(first)) throw first;
    try {
      return await Sandbox.create({ ...options, autoPause: true, autoPauseMemory: false });
    } catch (second) {
      if (!isUnable(second)) throw second;
      if (requested !== undefined) throw first;
    }
    const sandbox = await Sandbox.create(options);
    report('this server cannot pause sandboxes: this one ends with its files at the end of its time');
    return sandbox;
  }
}
