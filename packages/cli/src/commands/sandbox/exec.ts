import { Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command, Option } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';
import { withOwnFailureStatus } from '../own-failure.ts';
import { parseDuration } from '../parse-duration.ts';
import { parseEnvironment } from '../parse-pairs.ts';
import { jsonOption } from './attached/captured-output.ts';
import { explainCall } from './attached/explain-call.ts';
import { quoteWords } from './attached/quote-words.ts';
import { type RunFlags, runWords } from './attached/run-words.ts';

type Flags = Parameters<typeof resolveConnection>[0] & RunFlags & { detach?: boolean };

/**
 * `skerry sandbox exec ID -- COMMAND…`: streams the output and exits with the status of the command. With `--tty` the
 * command, or by default a login shell, runs on a terminal.
 */
export function execSandboxCommand(): Command {
  const command = withConnectionFlags(
    new Command('exec')
      .description('run a command in a sandbox')
      .argument('<id>', 'id of the sandbox')
      .argument(
        '[command...]',
        'command and its arguments, after --; with --tty the default is a login shell',
      )
      .option('-u, --user <name>', 'user to run it as')
      .option('-C, --cwd <path>', 'folder to run it in')
      .option('-e, --env <name=value>', 'variable of its environment, may be repeated', parseEnvironment)
      .addOption(
        new Option('-d, --detach', 'start it and print its pid; "sandbox logs" shows its output').conflicts([
          'tty',
          'stdin',
          'keepAlive',
        ]),
      )
      .option('-i, --stdin', 'forward standard input')
      .option('-t, --tty', 'run it on a terminal, connected to this one')
      .option(
        '--timeout <time>',
        'kill it after this time, such as 90s or 10m (default: none)',
        parseDuration,
      )
      .option('--keep-alive', 'extend the life of the sandbox for as long as the command runs')
      .addOption(jsonOption())
      .passThroughOptions()
      .addHelpText(
        'after',
        `
The exit status is that of the command, 128 and the number of the signal that ended it, 124 after --timeout, or 125 when skerry
itself fails.`,
      ),
  );
  return withOwnFailureStatus(command).action(async (id: string, passed: string[], flags: Flags) => {
    // Every word after the id belongs to the command, and `--` is kept too.
    const words = passed[0] === '--' ? passed.slice(1) : passed;
    if (passed[0]?.startsWith('-') && passed[0] !== '--') throw toMisplacedOption(id, passed);
    if (words.length === 0 && !flags.tty) throw new UserError('name a command after --, or use --tty');
    const found = await findReference('sandbox', id, flags);
    const sandbox = await Sandbox.connect(found.id, found.connection);
    process.exitCode = flags.detach
      ? await startDetached(sandbox, words, flags)
      : await runWords(sandbox, words, flags);
  });
}

async function startDetached(
  sandbox: Sandbox,
  words: string[],
  { user, cwd, env, timeout = 0, json }: Flags,
): Promise<number> {
  const handle = await sandbox.commands
    .run(quoteWords(words), { user, cwd, envs: env, timeoutMs: timeout * 1000, background: true })
    .catch(async (error: unknown) => {
      throw await explainCall(error, { sandbox, user });
    });
  handle.disconnect();
  if (json) printJson({ sandboxId: sandbox.sandboxId, pid: handle.pid });
  else printLine(String(handle.pid));
  return 0;
}

/** Refuses a command that begins with a dash unless it stands after `--`. */
function toMisplacedOption(id: string, passed: string[]): UserError {
  const end = passed.indexOf('--');
  const options = end === -1 ? passed : passed.slice(0, end);
  const command = end === -1 ? ['COMMAND'] : passed.slice(end + 1);
  const line = quoteWords(['skerry', 'sandbox', 'exec', ...options, id, '--', ...command]);
  return new UserError(`options come before the id: ${line}`);
}
