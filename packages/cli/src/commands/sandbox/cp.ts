import { NotFoundError, Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson } from '../../output/print.ts';
import { showTransfer } from '../../output/show-transfer.ts';
import { copyIn } from './copy/copy-in.ts';
import { copyOut } from './copy/copy-out.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { user?: string; json?: boolean };

/**
 * `skerry sandbox cp SOURCE DESTINATION`, one of which is `ID:PATH`: copies a file or a folder into or out of a
 * sandbox.
 */
export function copySandboxCommand(): Command {
  return withConnectionFlags(
    new Command('cp')
      .description('copy a file or a folder into or out of a sandbox')
      .argument('<source>', 'PATH here, or ID:PATH in a sandbox')
      .argument('<destination>', 'ID:PATH in a sandbox, or PATH here; into it when it is a folder')
      .option('-u, --user <name>', 'user of the sandbox: owner of what is written, home of relative paths')
      .option('--json', 'one JSON object, with the bytes that were sent or received')
      .addHelpText(
        'after',
        `
Modes and symbolic links are kept. A folder travels as one archive, for which the sandbox needs "tar".`,
      ),
  ).action(async (source: string, destination: string, { user, json, ...flags }: Flags) => {
    const [from, to] = [parsePlace(source), parsePlace(destination)];
    if ((from.id === undefined) === (to.id === undefined))
      throw new CliError('one of the two is ID:PATH in a sandbox, the other a path on this machine');
    const id = (from.id ?? to.id) as string;
    const sandbox = await Sandbox.connect(id, await resolveConnection(flags));
    using progress = showTransfer();
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
      progress.add(count);
    };
    try {
      if (to.id === undefined) await copyOut(sandbox, from.path, to.path, { user, onBytes });
      else await copyIn(sandbox, from.path, to.path, { user, onBytes });
    } catch (error) {
      // A file is missing, not the sandbox, and a list of sandboxes does not help.
      throw error instanceof NotFoundError ? new CliError(error.message) : error;
    }
    if (json) printJson({ sandboxId: id, source, destination, bytes });
  });
}

/** `./a:b` and `/a:b` are paths of this machine, whose names may hold colons. */
function parsePlace(text: string): { id?: string; path: string } {
  const [, id, path] = /^(i[a-z0-9]+):(.*)$/s.exec(text) ?? [];
  if (id === undefined || path === undefined) return { path: text };
  return { id, path: path === '' ? '.' : path };
}
