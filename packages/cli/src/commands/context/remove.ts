import { Command } from 'commander';
import { contextsFile, findContext, readContexts, writeContexts } from '../../contexts.ts';

/** `skerry context remove NAME`: forgets a server. The current one gives way to that of this machine. */
export function removeContextCommand(): Command {
  return new Command('remove')
    .alias('rm')
    .description('forget a server')
    .argument('<name>', 'name of the context')
    .action((name: string) => {
      const file = contextsFile();
      const { current, contexts } = readContexts(file);
      findContext({ contexts }, name);
      const { [name]: _, ...rest } = contexts;
      writeContexts(file, { ...(current && current !== name ? { current } : {}), contexts: rest });
    });
}
