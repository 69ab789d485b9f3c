import { templates } from '@skerry/sdk/template';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { removeEach } from '../for-each.ts';

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
    await removeEach({
      ids,
      remove: (id) => templates.delete(id, connection),
      kind: 'template',
      verb: 'deleted',
      json,
    });
  });
}
