import { Command } from 'commander';
import { contextsFile, readContexts, writeContexts } from '../../contexts.ts';
import { printJson } from '../../output/print.ts';
import { toEntry } from './to-entry.ts';

/** `skerry context remove NAME`: forgets a server. The current one gives way to that of this machine. */
export function removeContextCommand(): Command {
  return new Command('remove')
    .alias('rm')
    .description('forget a server')
    .argument('<name>', 'name of the context')
    .option('--json', 'one JSON object, without the key')
    .action((name: string, { json }: { json?: boolean }) => {
      const file = contextsFile();
      const before = readContexts(file);
      const removed = toEntry(before, name);
      const { current, contexts } = before;
      const { [name]: _, ...rest } = contexts;
      writeContexts(file, { ...(current && current !== name ? { current } : {}), contexts: rest });
      if (json) printJson({ ...removed, isCurrent: false });
    });
}
