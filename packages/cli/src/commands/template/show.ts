import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLines } from '../../output/print.ts';
import { toAge } from '../../table.ts';
import { findTemplate } from './find-template.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry template show NAME`: one template and its latest build. */
export function showTemplateCommand(): Command {
  return withConnectionFlags(
    new Command('show')
      .description('show one template')
      .argument('<template>', 'name or id of the template')
      .option('--json', 'one JSON object'),
  ).action(async (text: string, flags: Flags) => {
    const template = await findTemplate(text, await resolveConnection(flags));
    if (flags.json) {
      printJson(template);
      return;
    }
    const { lastSpawnedAt } = template;
    const lines = [
      ['id', template.templateId],
      ['names', template.names.join(' ')],
      ['build', `${template.buildId}, ${template.buildStatus}`],
      ['builds', String(template.buildCount)],
      ['cpu', String(template.cpuCount)],
      ['memory', `${template.memoryMiB} MiB`],
      ['disk', `${template.diskSizeMiB} MiB`],
      ...(template.isolation ? [['isolation', `${template.isolation} at least`]] : []),
      ['created', toMoment(template.createdAt)],
      ['updated', toMoment(template.updatedAt)],
      [
        'sandboxes',
        `${template.spawnCount}${lastSpawnedAt ? `, the last at ${toMoment(lastSpawnedAt)}` : ''}`,
      ],
    ];
    printLines(lines.map(([name = '', value]) => `${name.padEnd(11)}${value}`));
  });
}

const toMoment = (time: Date): string => `${time.toISOString()}, ${toAge(Date.now() - +time)} ago`;
