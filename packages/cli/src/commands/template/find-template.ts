import { type TemplateInfo, templates } from '@skerry/sdk/template';
import { CliError } from '../../cli-error.ts';
import type { Connection } from '../../connection.ts';

/** The template with that id or name, with or without namespace. Rejects with `CliError` when there is none. */
export async function findTemplate(text: string, connection: Connection): Promise<TemplateInfo> {
  const name = text.trim().toLowerCase();
  const all = await templates.list(connection);
  const found = all.find(({ templateId, aliases, names }) =>
    [templateId, ...aliases, ...names].includes(name),
  );
  if (found) return found;
  throw new CliError(`no template ${text}`);
}
