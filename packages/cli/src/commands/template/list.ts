import { type TemplateInfo, templates } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJsonLines, printLines } from '../../output/print.ts';
import { toAge, toTable } from '../../table.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; quiet?: boolean };

const HEAD = ['NAME', 'ID', 'STATUS', 'CPU', 'MEMORY', 'LEVEL', 'BUILDS', 'UPDATED'];

/** `skerry template list`: a table, or one JSON object or id a line. */
export function listTemplatesCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .alias('ls')
      .description('list templates')
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'ids only'),
  ).action(async ({ json, quiet, ...flags }: Flags) => {
    const all = await templates.list(await resolveConnection(flags));
    if (json) printJsonLines(all);
    else if (quiet) printLines(all.map(({ templateId }) => templateId));
    else printLines(toTable(HEAD, all.map(toRow)));
  });
}

const toRow = (template: TemplateInfo): string[] => [
  template.aliases[0] ?? '-',
  template.templateId,
  template.buildStatus,
  String(template.cpuCount),
  `${template.memoryMiB} MiB`,
  template.isolation ?? '-',
  String(template.buildCount),
  toAge(Date.now() - +template.updatedAt),
];
