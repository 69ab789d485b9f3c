import { CommandExitError, Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { quoteWords } from './quote-words.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { user?: string; cwd?: string; stdin?: boolean };

/** `skerry sandbox exec ID -- COMMAND…`: streams the output and ends with the command's own exit status. */
export function execSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('exec')
      .description('run a command in a sandbox')
      .argument('<id>', 'id of the sandbox')
      .argument('<command...>', 'command and its arguments, after --')
      .option('-u, --user <name>', 'user to run it as')
      .option('-C, --cwd <path>', 'folder to run it in')
      .option('-i, --stdin', 'pass standard input on')
      .passThroughOptions(),
  ).action(async (id: string, passed: string[], flags: Flags) => {
    // Options are passed through from the id on, and so is the mark that ends them.
    const words = passed[0] === '--' ? passed.slice(1) : passed;
    if (words.length === 0) throw new CliError('name a command after --');
    const sandbox = await Sandbox.connect(id, resolveConnection(flags));
    const handle = await sandbox.commands.run(quoteWords(words), {
      background: true,
      stdin: flags.stdin ?? false,
      timeoutMs: 0,
      onStdout: (text) => void process.stdout.write(text),
      onStderr: (text) => void process.stderr.write(text),
      ...(flags.user ? { user: flags.user } : {}),
      ...(flags.cwd ? { cwd: flags.cwd } : {}),
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
    // A process that a signal ended has no status of its own; shells answer with 128 and more.
    process.exitCode = exitCode < 0 ? 128 : exitCode;
  });
}
