import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';

/** Words of other programs for containers and sandboxes, and what does that here. */
const words: Record<string, string> = {
  ps: '"skerry ls" lists sandboxes',
  stop: '"skerry sandbox pause ID" stops a sandbox and keeps it, "skerry rm ID" removes it, "skerry down" ends the server',
  start: '"skerry up" starts the server, "skerry create" a sandbox, "skerry sandbox resume ID" a paused one',
  restart: '"skerry sandbox resume ID" starts a paused sandbox again',
  unpause: '"skerry sandbox resume ID" starts a paused sandbox again',
  delete: '"skerry rm ID" removes a sandbox',
  remove: '"skerry rm ID" removes a sandbox',
  spawn: '"skerry create" makes a sandbox',
  shell: '"skerry sandbox connect ID" opens a shell of a sandbox',
  ssh: '"skerry sandbox connect ID" opens a shell of a sandbox',
  attach: '"skerry sandbox connect ID" opens a shell of a sandbox',
  inspect: '"skerry sandbox info ID" shows a sandbox',
  top: '"skerry sandbox metrics -w ID" shows what a sandbox uses',
  stats: '"skerry sandbox metrics -w ID" shows what a sandbox uses',
  expose: '"skerry sandbox port open ID PORT" serves a port of a sandbox on this machine',
  images: '"skerry template list" lists templates, "skerry image" exchanges them with other programs',
  rmi: '"skerry template delete NAME" deletes a template',
  build: '"skerry template build NAME FOLDER" builds a template from a Dockerfile',
  pull: '"skerry template build --from IMAGE NAME" makes a template of an image of a registry',
  push: '"skerry image save NAME -o FILE" writes a template as an image, for other programs',
  commit: '"skerry snapshot create --name NAME ID" captures a sandbox',
  login: '"skerry context add NAME --api-url URL" keeps a server and its key',
  auth: '"skerry context add NAME --api-url URL" keeps a server and its key',
  serve: '"skerry up" starts the server',
  daemon: '"skerry up" starts the server',
};

/**
 * Adds hidden commands for words of other programs, also below `sandbox`, and for the commands of `sandbox` that need that word.
 * Each rejects with `UserError`, whose message has the command of this program.
 */
export function addForeignWords(program: Command, sandbox: Command): void {
  const verbs = sandbox.commands.map((verb) => [verb.name(), `"skerry sandbox ${verb.name()}" does that`]);
  for (const group of [program, sandbox]) {
    const known = group.commands.flatMap((command) => [command.name(), ...command.aliases()]);
    for (const [word = '', hint = ''] of [...Object.entries(words), ...verbs])
      if (!known.includes(word)) group.addCommand(toHint(word, hint), { hidden: true });
  }
}

const toHint = (word: string, hint: string): Command =>
  new Command(word)
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(() => {
      throw new UserError(`there is no command "${word}": ${hint}`);
    });
