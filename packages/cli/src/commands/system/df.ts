import { type StorageUsage, storage } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { formatBytes } from '../../output/format-bytes.ts';
import { printJsonLines, printLine, printLines } from '../../output/print.ts';
import { toTable } from '../../table.ts';
import { withNodeColumn } from './node-column.ts';
import { toTitle } from './to-title.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; quiet?: boolean };

const HEAD = ['KIND', 'COUNT', 'SIZE', 'RECLAIMABLE'];

/** `skerry system df`: a table, or one JSON object a line, or with -q the bytes of all together. */
export function storageUsageCommand(): Command {
  return withConnectionFlags(
    new Command('df')
      .description(
        'show what the service keeps on its disk and those of its nodes, and what "prune --all" would remove',
      )
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'the bytes of all together only'),
  ).action(async ({ json, quiet, ...flags }: Flags) => {
    const all = await storage.usage(await resolveConnection(flags));
    if (json) printJsonLines(all);
    else if (quiet) printLine(`${all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)}`);
    else printLines(toTable(...withNodeColumn(all, { head: HEAD, toRow })));
  });
}

const toRow = ({ kind, count, sizeBytes, reclaimableCount, reclaimableBytes }: StorageUsage): string[] => [
  toTitle(kind),
  String(count),
  formatBytes(sizeBytes),
  reclaimableCount === 0 ? '-' : `${formatBytes(reclaimableBytes)} (${reclaimableCount})`,
];
