import addCompletion from '@bomb.sh/tab/commander';
import { apiKeys, nodes, Sandbox, snapshots } from '@skerry/sdk';
import { templates } from '@skerry/sdk/template';
import type { Command } from 'commander';
import { resolveConnection } from '../connection.ts';
import { type Kind, toKind } from '../kind.ts';
import { readyMadeNames } from './template/ready-made.ts';

/**
 * What the script for bash calls, for shells in which the package bash-completion is not loaded. It knows no words with `=` or `:`, which
 * bash divides.
 */
const bashWords = `declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}

`;

/** A person waits at the keyboard. */
const ANSWER_MS = 1_000;

/**
 * Adds `completion SHELL`, which prints the script, and the hidden command that the script calls at each Tab. That one asks the server
 * for the ids and names that the command takes.
 */
export function addCompletionCommand(program: Command): void {
  const tab = addCompletion(program, { completionCommandName: 'completion' });
  const find = (name: string) => program.commands.find((command) => command.name() === name);
  find('completion')?.hook('preAction', (command) => {
    if (command.args[0] === 'bash') command.configureOutput().writeOut?.(bashWords);
  });
  find('complete')?.hook('preAction', async (complete) => {
    const [path, command] = findCommand(program, complete.args);
    const kind = toKind(command);
    const [argument] = command.registeredArguments;
    if (kind === undefined || argument === undefined || argument.argChoices) return;
    const names = await listNames(kind).catch(() =>
      // No server answers: Tab then completes words of the command line alone.
      [],
    );
    tab.commands.get(path)?.argument(
      argument.name(),
      (add) => {
        for (const { name, description } of names) add(name, description);
      },
      argument.variadic,
    );
  });
}

/** The command that the words name, and its path; `program` when they name none. */
function findCommand(program: Command, words: readonly string[]): [path: string, command: Command] {
  let found = program;
  const path: string[] = [];
  for (const word of words.slice(0, -1)) {
    const next = found.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (next === undefined) break;
    found = next;
    path.push(next.name());
  }
  return [path.join(' '), found];
}

interface Name {
  name: string;
  description: string;
}

async function listNames(kind: Kind): Promise<Name[]> {
  const connection = { ...(await resolveConnection({})), signal: AbortSignal.timeout(ANSWER_MS) };
  switch (kind) {
    case 'sandbox': {
      const all = await Array.fromAsync(Sandbox.list(connection));
      return all.map(({ sandboxId, alias, templateId, state }) => ({
        name: sandboxId,
        description: `${alias ?? templateId}, ${state}`,
      }));
    }
    case 'snapshot': {
      const all = await Array.fromAsync(snapshots.list(connection));
      return all.map(({ snapshotId }) => ({ name: snapshotId, description: 'snapshot' }));
    }
    case 'template': {
      const built = (await templates.list(connection)).flatMap(({ aliases }) => aliases);
      const named = built.map((name) => ({ name, description: 'template' }));
      const ready = readyMadeNames.filter((name) => !built.includes(name));
      return [...named, ...ready.map((name) => ({ name, description: 'ready-made template' }))];
    }
    case 'node':
      return (await nodes.list(connection)).map(({ name, state }) => ({ name, description: state }));
    case 'key':
      return (await apiKeys.list(connection)).map(({ keyId, name }) => ({ name: keyId, description: name }));
    case 'result':
      return [];
  }
}
