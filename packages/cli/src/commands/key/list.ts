import { apiKeys } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJsonLines, printLines } from '../../output/print.ts';
import { toAge, toTable } from '../../table.ts';
import { describeLimits } from './limit-options.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; quiet?: boolean };

const HEAD = ['ID', 'NAME', 'PROJECT', 'ACCESS', 'LIMITS', 'KEY', 'AGE', 'LAST USED'];

/** `skerry key list`: a table, newest first, or one JSON object or id a line. */
export function listKeysCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .alias('ls')
      .description('list the keys of a server, without their secrets')
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'ids only'),
  ).action(async ({ json, quiet, ...flags }: Flags) => {
    const all = await apiKeys.list(await resolveConnection(flags));
    if (json) printJsonLines(all);
    else if (quiet) printLines(all.map(({ keyId }) => keyId));
    else {
      const rows = all.map(({ keyId, name, project, readOnly, limits, mask, createdAt, lastUsedAt }) => [
        keyId,
        name,
        project ?? 'all',
        readOnly ? 'read' : 'read, write',
        describeLimits(limits),
        mask,
        toAge(Date.now() - +createdAt),
        lastUsedAt === undefined ? 'never' : toAge(Date.now() - +lastUsedAt),
      ]);
      printLines(toTable(HEAD, rows));
    }
  });
}
