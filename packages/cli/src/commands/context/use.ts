import { Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import { contextsFile, findContext, readContexts, writeContexts } from '../../contexts.ts';

/** `skerry context use NAME`: further commands talk to that server; with `--none` to the one of this machine. */
export function useContextCommand(): Command {
  return new Command('use')
    .description('choose the server that further commands talk to')
    .argument('[name]', 'name of the context')
    .option('--none', 'the server of this machine again')
    .action((name: string | undefined, { none = false }: { none?: boolean }) => {
      if ((name === undefined) !== none) throw new CliError('name a context, or give --none');
      const file = contextsFile();
      const contexts = readContexts(file);
      if (name !== undefined) findContext(contexts, name);
      writeContexts(file, { ...(name === undefined ? {} : { current: name }), contexts: contexts.contexts });
    });
}
