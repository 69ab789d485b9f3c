import { Command } from 'commander';
import { contextsFile, readContexts } from '../../contexts.ts';
import { printJsonLines, printLines } from '../../output/print.ts';
import { toTable } from '../../table.ts';
import { toEntry } from './to-entry.ts';

/** `skerry context list`: names and addresses, never keys; a star marks the current one. */
export function listContextsCommand(): Command {
  return new Command('list')
    .alias('ls')
    .description('list the servers that have a name')
    .option('--json', 'one JSON object a line, without keys')
    .option('-q, --quiet', 'names only')
    .action(({ json, quiet }: { json?: boolean; quiet?: boolean }) => {
      const contexts = readContexts(contextsFile());
      const entries = Object.keys(contexts.contexts).map((name) => toEntry(contexts, name));
      if (json) printJsonLines(entries);
      else if (quiet) printLines(entries.map(({ name }) => name));
      else
        printLines(
          toTable(
            ['CURRENT', 'NAME', 'API', 'DOMAIN'],
            entries.map(({ name, isCurrent, apiUrl, domain }) => [
              isCurrent ? '*' : '',
              name,
              apiUrl,
              domain ?? '',
            ]),
          ),
        );
    });
}
