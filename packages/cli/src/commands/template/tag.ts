import { templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { delete?: boolean; json?: boolean };

/** `skerry template tag NAME [TAG…]`: points tags to a build, removes them, or shows all tags. */
export function tagTemplateCommand(): Command {
  return withConnectionFlags(
    new Command('tag')
      .description('point tags to a build of a template, or show its tags')
      .argument('<template>', 'name of the template, with the tag of the build if it is not default')
      .argument('[tag...]', 'the tags')
      .option('-d, --delete', 'remove the tags')
      .option('--json', 'one JSON object a line'),
  ).action(async (text: string, tags: string[], { delete: remove, json, ...flags }: Flags) => {
    if (remove && tags.length === 0) throw new UserError('name the tags to remove');
    const { id: template, connection } = await findReference('template', text, flags);
    if (remove) await templates.removeTags(template, tags, connection);
    else if (tags.length > 0) await templates.addTags(template, tags, connection);
    else
      for (const entry of await templates.listTags(template, connection)) {
        const { tag, buildId, createdAt } = entry;
        if (json) printJson(entry);
        else printLine(`${tag}  ${buildId}  ${createdAt.toISOString()}`);
      }
  });
}
