import { type BuildProgress, templates } from '@skerry/sdk/template';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';
import { findTemplate } from './find-template.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { build?: string; follow?: boolean; json?: boolean };

/** `skerry template logs NAME`: one line for each entry of the log of a build, the oldest first. */
export function templateLogsCommand(): Command {
  return withConnectionFlags(
    new Command('logs')
      .description('show the log of the latest build of a template')
      .argument('<template>', 'name or id of the template')
      .option('--build <id>', 'another build of it')
      .option('-f, --follow', 'print new entries until the build ends')
      .option('--json', 'one JSON object a line'),
  ).action(async (text: string, { build, follow, json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    const { templateId, buildId } = await findTemplate(text, connection);
    await templates.readBuildLog({
      ...connection,
      templateId,
      buildId: build ?? buildId,
      follow,
      onProgress: (entry) => {
        if (json) printJson(entry);
        else printLine(toLine(entry));
      },
    });
  });
}

const toLine = ({ time, level, step = '', message }: BuildProgress): string =>
  [time.toISOString(), level.padEnd(5), step.padEnd(8), message].join('  ');
