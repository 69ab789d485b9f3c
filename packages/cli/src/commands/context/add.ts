import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { contextsFile, readContexts, writeContexts } from '../../contexts.ts';
import { printJson } from '../../output/print.ts';
import { toEntry } from './to-entry.ts';

interface Flags {
  apiUrl: string;
  apiKey?: string;
  domain?: string;
  json?: boolean;
}

/** `skerry context add NAME`: keeps the address and key of a server under a name, in place of what had the name. */
export function addContextCommand(): Command {
  return new Command('add')
    .description('keep the address and key of a server under a name')
    .argument('<name>', 'name of the context')
    .requiredOption('--api-url <url>', 'base URL of the API')
    .option('--api-key <key>', 'API key (SKERRY_API_KEY, which the list of processes does not show)')
    .option('--domain <domain>', 'domain of the sandboxes, where it is not that of the API')
    .option('--json', 'one JSON object, without the key')
    .action((name: string, { apiUrl, apiKey = process.env.SKERRY_API_KEY, domain, json }: Flags) => {
      if (!/^[\w.-]+$/.test(name))
        throw new UserError('the name of a context has letters, digits, dots, dashes and underscores');
      if (!URL.canParse(apiUrl)) throw new UserError(`--api-url is not a URL: ${apiUrl}`);
      if (!apiKey) throw new UserError('no API key: pass --api-key or set SKERRY_API_KEY');
      const file = contextsFile();
      const before = readContexts(file);
      const context = { apiUrl, apiKey, ...(domain === undefined ? {} : { domain }) };
      const after = { ...before, contexts: { ...before.contexts, [name]: context } };
      writeContexts(file, after);
      if (json) printJson(toEntry(after, name));
    });
}
