import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { contextsFile, readContexts, writeContexts } from '../../contexts.ts';
import { printJson } from '../../output/print.ts';
import { toEntry } from './to-entry.ts';

/** `skerry context use NAME`: further commands talk to that server; with `--none` to the one of this machine. */
export function useContextCommand(): Command {
  return new Command('use')
    .description('choose the server that further commands talk to')
    .argument('[name]', 'name of the context')
    .option('--none', 'the server of this machine again')
    .option('--json', 'one JSON object, without the key; null with --none')
    .action((name: string | undefined, { none = false, json }: { none?: boolean; json?: boolean }) => {
      if ((name === undefined) !== none) throw new UserError('name a context, or give --none');
      const file = contextsFile();
      const { contexts } = readContexts(file);
      const after = { ...(name === undefined ? {} : { current: name }), contexts };
      const entry = name === undefined ? null : toEntry(after, name);
      writeContexts(file, after);
      if (json) printJson(entry);
    });
}
