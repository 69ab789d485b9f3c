import { type TemplateInfo, templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import type { Connection } from '../../connection.ts';
import { complete, toReferable } from '../../find-reference.ts';

/**
 * The template with that name, with or without namespace, or whose id begins so. Rejects with `UserError` when there is none, and when
 * there are several.
 */
export async function findTemplate(text: string, connection: Connection): Promise<TemplateInfo> {
  const all = await templates.list(connection);
  const name = complete(text.trim().toLowerCase(), all.map(toReferable));
  const found = all.find(({ templateId, aliases, names }) =>
    [templateId, ...aliases, ...names].includes(name),
  );
  if (found) return found;
  throw new UserError(`no template ${text}`);
}
