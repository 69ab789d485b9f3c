import { CommandExitError, Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { quoteWords } from './quote-words.ts';
import { sitAtTerminal } from './sit-at-terminal.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  user?: string;
  cwd?: string;
  stdin?: boolean;
  tty?: boolean;
};

/**
 * `skerry sandbox exec ID -- COMMAND…`: streams the output and ends with the command's own exit status. With `--tty` the
 * command, or else a login shell, runs on a terminal.
 */
export function execSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('exec')
      .description('run a command in a sandbox')
      .argument('<id>', 'id of the sandbox')
      .argument('[command...]', 'command and its arguments, after --; with --tty a login shell unless given')
      .option('-u, --user <name>', 'user to run it as')
      .option('-C, --cwd <path>', 'folder to run it in')
      .option('-i, --stdin', 'pass standard input on')
      .option('-t, --tty', 'run it on a terminal, connected to this one')
      .passThroughOptions(),
  ).action(async (id: string, passed: string[], flags: Flags) => {
    // Options are passed through from the id on, and so is the mark that ends them.
    const words = passed[0] === '--' ? passed.slice(1) : passed;
    if (passed[0]?.startsWith('-') && passed[0] !== '--') throw toMisplacedOption(id, passed);
    if (words.length === 0 && !flags.tty) throw new CliError('name a command after --, or give --tty');
    const sandbox = await Sandbox.connect(id, resolveConnection(flags));
    const place = { user: flags.user, cwd: flags.cwd };
    if (flags.tty) {
      const command = words.length === 0 ? {} : { command: quoteWords(words) };
      process.exitCode = toExitStatus(await sitAtTerminal(sandbox, { ...place, ...command }));
      return;
    }
    const handle = await sandbox.commands.run(quoteWords(words), {
      ...place,
      background: true,
      stdin: flags.stdin ?? false,
      timeoutMs: 0,
      onStdout: (text) => void process.stdout.write(text),
      onStderr: (text) => void process.stderr.write(text),
    });
    process.once('SIGINT', () => void handle.kill());
    if (flags.stdin) {
      await sandbox.commands.streamStdin(handle.pid, process.stdin);
      await handle.closeStdin();
    }
    const { exitCode } = await handle.wait().catch((error: unknown) => {
      if (error instanceof CommandExitError) return error;
      throw error;
    });
    process.exitCode = toExitStatus(exitCode);
  });
}

/** No command begins with a dash unless it stands after `--`. */
function toMisplacedOption(id: string, passed: string[]): CliError {
  const end = passed.indexOf('--');
  const options = end === -1 ? passed : passed.slice(0, end);
  const command = end === -1 ? ['COMMAND'] : passed.slice(end + 1);
  const line = quoteWords(['skerry', 'sandbox', 'exec', ...options, id, '--', ...command]);
  return new CliError(`options come before the id: ${line}`);
}

/** A process that a signal ended has no status of its own; shells answer with 128 and more. */
const toExitStatus = (exitCode: number): number => (exitCode < 0 ? 128 : exitCode);
