import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../connection.ts';
import { printJson, printLines } from '../output/print.ts';
import { quoteWord } from './sandbox/attached/quote-words.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { e2b?: boolean; json?: boolean };

/** `skerry env`: the server of this machine as lines for a shell. */
export function envCommand(): Command {
  return withConnectionFlags(
    new Command('env')
      .description('print the variables that name the server, for eval "$(skerry env)"')
      .option('--e2b', 'the variables that the clients of E2B read')
      .option('--json', 'one JSON object'),
  ).action(async ({ e2b, json, ...flags }: Flags) => {
    const { apiUrl, apiKey, domain, sandboxUrl } = await resolveConnection(flags);
    const variables = e2b
      ? { E2B_API_URL: apiUrl, E2B_API_KEY: apiKey, E2B_DOMAIN: domain, E2B_SANDBOX_URL: sandboxUrl }
      : { SKERRY_API_URL: apiUrl, SKERRY_API_KEY: apiKey, SKERRY_DOMAIN: domain };
    const given = Object.entries(variables).filter(([, value]) => value !== undefined);
    if (json) printJson(Object.fromEntries(given));
    else printLines(given.map(([name, value = '']) => `export ${name}=${quoteWord(value)}`));
  });
}
