import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { withOwnFailureStatus } from '../own-failure.ts';
import { runWords } from './attached/run-words.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { user?: string; cwd?: string; keepAlive?: boolean };

/** `skerry sandbox connect ID`: a login shell of the sandbox on this terminal. */
export function connectSandboxCommand(): Command {
  const command = withConnectionFlags(
    new Command('connect')
      .description('open a shell of a sandbox on this terminal')
      .argument('<id>', 'id of the sandbox; a paused one is resumed')
      .option('-u, --user <name>', 'user of the shell')
      .option('-C, --cwd <path>', 'folder to begin in')
      .option('--keep-alive', 'extend the life of the sandbox for as long as the shell runs'),
  );
  return withOwnFailureStatus(command).action(async (id: string, flags: Flags) => {
    const found = await findReference('sandbox', id, flags);
    const sandbox = await Sandbox.connect(found.id, found.connection);
    process.exitCode = await runWords(sandbox, [], { ...flags, tty: true });
  });
}
