import addCompletion from '@bomb.sh/tab/commander';
import type { Command } from 'commander';

/**
 * What the script for bash calls, for shells in which the package bash-completion is not loaded. It knows no words with `=` or `:`, which
 * bash divides.
 */
const bashWords = `declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}

`;

/** Adds `completion SHELL`, which prints the script, and the hidden command that the script calls at each Tab. */
export function addCompletionCommand(program: Command): void {
  addCompletion(program, { completionCommandName: 'completion' });
  program.commands
    .find((command) => command.name() === 'completion')
    ?.hook('preAction', (command) => {
      if (command.args[0] === 'bash') command.configureOutput().writeOut?.(bashWords);
    });
}
