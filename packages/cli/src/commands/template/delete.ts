import { templates } from '@skerry/sdk/template';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { report } from '../../output/print.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry template delete NAME…`: exits with 1 when a template did not exist, or is in use. */
export function deleteTemplateCommand(): Command {
  return withConnectionFlags(
    new Command('delete')
      .description('delete templates')
      .argument('<template...>', 'names or ids of the templates; with a tag, only that tag')
      .option('--json', 'one JSON object a line'),
  ).action(async (texts: string[], { json, ...flags }: Flags) => {
    const { ids, connection } = await findReferences('template', texts, flags);
    const act = async (id: string): Promise<boolean> => {
      const deleted = await templates.delete(id, connection);
      if (!deleted) process.exitCode = 1;
      if (!deleted && !json) report(`no template ${id}`);
      return deleted;
    };
    await forEach({
      ids,
      act,
      kind: 'template',
      toJson: json && ((deleted) => ({ deleted })),
    });
  });
}
