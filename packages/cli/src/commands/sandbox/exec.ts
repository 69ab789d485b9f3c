import { Sandbox, SandboxError } from '@skerry/sdk';
import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { TIMED_OUT } from '../../exit-status.ts';
import { withOwnFailureStatus } from '../own-failure.ts';
import { parseDuration } from '../parse-duration.ts';
import { attachTerminal } from './attached/attach-terminal.ts';
import { quoteWords } from './attached/quote-words.ts';
import { runAttached } from './attached/run-attached.ts';
import { watchEnd } from './attached/watch-end.ts';
import { parseEnvironment } from './parse-pairs.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  user?: string;
  cwd?: string;
  env?: Record<string, string>;
  stdin?: boolean;
  tty?: boolean;
  timeout?: number;
  keepAlive?: boolean;
};

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
      .option('-i, --stdin', 'forward standard input')
      .option('-t, --tty', 'run it on a terminal, connected to this one')
      .option(
        '--timeout <time>',
        'kill it after this time, such as 90s or 10m (default: none)',
        parseDuration,
      )
      .option('--keep-alive', 'extend the life of the sandbox for as long as the command runs')
      .passThroughOptions()
      .addHelpText(
        'after',
        `
The exit status is that of the command, 128 and the number of the signal that ended it, 124 after --timeout, or 125 when skerry
itself fails.

Examples:
  skerry sandbox exec ID -- python3 -c 'print("hello")'
  skerry sandbox exec -i ID -- sort < names.txt
  skerry sandbox exec -t -u root ID`,
      ),
  );
  return withOwnFailureStatus(command).action(async (id: string, passed: string[], flags: Flags) => {
    // Every word after the id belongs to the command, and `--` is kept too.
    const words = passed[0] === '--' ? passed.slice(1) : passed;
    if (passed[0]?.startsWith('-') && passed[0] !== '--') throw toMisplacedOption(id, passed);
    if (words.length === 0 && !flags.tty) throw new CliError('name a command after --, or use --tty');
    const sandbox = await Sandbox.connect(id, await resolveConnection(flags));
    process.exitCode = await runWords(sandbox, words, flags);
  });
}

/** Runs the words in the sandbox as the flags of `exec` and `run` say, and resolves with the exit status. */
export async function runWords(
  sandbox: Sandbox,
  words: string[],
  { user, cwd, env, stdin = false, tty = false, timeout = 0, keepAlive = false }: Flags,
): Promise<number> {
  const place = { user, cwd, envs: env, timeoutMs: timeout * 1000 };
  await using _ = watchEnd(sandbox, { warns: tty, keepsAlive: keepAlive });
  const startedAtMs = performance.now();
  try {
    if (!tty) return await runAttached(sandbox, { ...place, command: quoteWords(words), stdin });
    const command = words.length === 0 ? {} : { command: quoteWords(words) };
    return await attachTerminal(sandbox, { ...place, ...command });
  } catch (error) {
    // A request that is not answered in time has the same code.
    const isOver = timeout > 0 && performance.now() - startedAtMs >= timeout * 1000;
    if (!isOver || !(error instanceof SandboxError) || error.code !== 'timeout') throw error;
    process.stderr.write(`skerry: the command was killed after ${timeout} s\n`);
    return TIMED_OUT;
  }
}

/** Refuses a command that begins with a dash unless it stands after `--`. */
function toMisplacedOption(id: string, passed: string[]): CliError {
  const end = passed.indexOf('--');
  const options = end === -1 ? passed : passed.slice(0, end);
  const command = end === -1 ? ['COMMAND'] : passed.slice(end + 1);
  const line = quoteWords(['skerry', 'sandbox', 'exec', ...options, id, '--', ...command]);
  return new CliError(`options come before the id: ${line}`);
}
