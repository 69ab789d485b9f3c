import { randomUUID } from 'node:crypto';
import { CommandExitError, type Sandbox } from '@skerry/sdk';
import { CliError } from '../../../cli-error.ts';
import { quoteWords } from '../attached/quote-words.ts';

/** Where an archive stands in a sandbox while it is copied. */
export const archivePath = (): string => `/tmp/.skerry-copy-${randomUUID()}.tar`;

/** Runs a program of the sandbox to its end, without limit of time. Throws `CliError` with what it complained about. */
export async function runTool(sandbox: Sandbox, words: string[], user: string | undefined): Promise<void> {
  try {
    await sandbox.commands.run(quoteWords(words), { user, timeoutMs: 0 });
  } catch (error) {
    if (!(error instanceof CommandExitError)) throw error;
    throw new CliError(`in the sandbox: ${error.stderr.trim() || error.message}`);
  }
}
