import type { IsolationLevel } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { beforeBrokenPipe } from '../../broken-pipe.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { withOwnFailureStatus } from '../own-failure.ts';
import { MAX_TIME_TO_LIVE, parseTimeToLive } from '../parse-duration.ts';
import { parseEnvironment, parseMetadata } from '../parse-pairs.ts';
import { jsonOption } from './attached/captured-output.ts';
import { type RunFlags, runWords } from './attached/run-words.ts';
import { createFrom } from './create-from.ts';
import { isolationOption } from './isolation-option.ts';
import { parseRunWords } from './parse-run-words.ts';

type Flags = Parameters<typeof resolveConnection>[0] &
  RunFlags & {
    template?: string;
    metadata?: Record<string, string>;
    timeout: number;
    isolation?: IsolationLevel;
    internet: boolean;
  };

/** What is left for the removal of the sandbox when the command is killed for its time. */
const SPARE_SECONDS = 30;

/**
 * `skerry sandbox run [TEMPLATE] -- COMMAND…`: creates a sandbox, runs the command in it and removes it, as `docker run --rm`
 * does.
 */
export function runSandboxCommand(): Command {
  const command = withConnectionFlags(
    new Command('run')
      .description('create a sandbox, run a command in it, and remove it')
      .usage('[options] [template] -- [command...]')
      .argument(
        '[template]',
        'template or snapshot to create it from, or a ready-made template (default: base)',
      )
      .argument('[command...]', 'command and its arguments, after --; with --tty a login shell unless given')
      .option('--template <name>', 'the template, in place of the argument')
      .option('-u, --user <name>', 'user to run the command as')
      .option('-C, --cwd <path>', 'folder to run it in')
      .option('-e, --env <name=value>', 'variable of its environment, may be repeated', parseEnvironment)
      .option('--metadata <key=value>', 'metadata of the sandbox, may be repeated', parseMetadata)
      .option('-i, --stdin', 'forward standard input')
      .option('-t, --tty', 'run it on a terminal, connected to this one')
      .option('--timeout <time>', 'kill it after this time, such as 90s or 10m', parseTimeToLive, 300)
      .addOption(isolationOption())
      .option('--no-internet', 'block all outgoing connections')
      .addOption(jsonOption())
      .passThroughOptions()
      .addHelpText(
        'after',
        `
The exit status is that of the command, 128 and the number of the signal that ended it, 124 after --timeout, or 125 when skerry
itself fails.`,
      ),
  );
  return withOwnFailureStatus(command).action(async (_template: unknown, _words: unknown, flags: Flags) => {
    const { template = flags.template ?? 'base', words } = parseRunWords(command.args, process.argv);
    if (words.length === 0 && !flags.tty) throw new UserError('name a command after --, or use --tty');
    const sandbox = await createFrom({
      ...(await resolveConnection(flags)),
      template,
      timeoutMs: Math.min(flags.timeout + SPARE_SECONDS, MAX_TIME_TO_LIVE) * 1000,
      metadata: flags.metadata,
      ...(flags.isolation ? { isolation: flags.isolation } : {}),
      ...(flags.internet ? {} : { allowInternetAccess: false }),
    });
    beforeBrokenPipe(() => sandbox.kill());
    try {
      process.exitCode = await runWords(sandbox, words, flags);
    } finally {
      await sandbox.kill();
    }
  });
}
