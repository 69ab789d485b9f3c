import { Sandbox, snapshots } from '@skerry/sdk';
import { type TemplateInfo, templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { type Connection, resolveConnection } from './connection.ts';
import type { Kind } from './kind.ts';

type Flags = Parameters<typeof resolveConnection>[0];

/** The kinds of objects whose ids commands accept shortened. */
export type ReferenceKind = Extract<Kind, 'sandbox' | 'snapshot' | 'template'>;

/** An object of the server that a command can refer to. */
export interface Referable {
  id: string;
  /** The full and short names of the object, with or without a tag. */
  names: readonly string[];
}

const TEMPLATE_ID = /^[a-z0-9]{20}(:.*)?$/;

/** Complete ids, which need no list of objects. Older programs append the id of a client to the id of a sandbox. */
const wholeIds: Record<ReferenceKind, RegExp> = {
  sandbox: /^i[a-z0-9]{20}(-.*)?$/,
  snapshot: TEMPLATE_ID,
  template: TEMPLATE_ID,
};

const SHOWN = 5;
/** All ids of sandboxes begin with the same character, which names none of them. */
const MIN_LENGTH = 3;

/**
 * The server of a command, and what the user means by the text: the beginning of an id will do when only one thing of these kinds has
 * it, and a tag may follow. A name is left as it is, and so is what nothing begins with, for the service to say what is on record of
 * it. Rejects with `UserError` when several have it.
 */
export async function findReference(
  kinds: ReferenceKind | readonly ReferenceKind[],
  text: string,
  flags: Flags,
): Promise<{ id: string; connection: Connection }> {
  const { ids, connection } = await findReferences(kinds, [text], flags);
  return { id: ids[0] ?? text, connection };
}

/** Looks several up together, as `findReference` does: one that is not unique rejects before anything is done. */
export async function findReferences(
  kinds: ReferenceKind | readonly ReferenceKind[],
  texts: readonly string[],
  flags: Flags,
): Promise<{ ids: string[]; connection: Connection }> {
  const connection = await resolveConnection(flags);
  return { ids: await completeAll([kinds].flat(), texts, connection), connection };
}

/** What the texts mean at that server, as `findReference` finds it. */
export async function completeAll(
  kinds: readonly ReferenceKind[],
  texts: readonly string[],
  connection: Connection,
): Promise<string[]> {
  const isWhole = (text: string): boolean => kinds.some((kind) => wholeIds[kind].test(text));
  if (texts.every(isWhole)) return [...texts];
  const all = (await Promise.all(kinds.map((kind) => listings[kind](connection)))).flat();
  return texts.map((text) => (isWhole(text) ? text : complete(text, all)));
}

/** List all objects of a kind that the API key can see. */
const listings: Record<ReferenceKind, (connection: Connection) => Promise<Referable[]>> = {
  sandbox: async (connection) => {
    const all = await Array.fromAsync(Sandbox.list(connection));
    return all.map(({ sandboxId }) => ({ id: sandboxId, names: [] }));
  },
  snapshot: async (connection) => {
    const all = await Array.fromAsync(snapshots.list(connection));
    return all.map(({ snapshotId, names }) => ({ id: snapshotId, names }));
  },
  template: async (connection) => {
    const all = await templates.list(connection);
    return all.map(toReferable);
  },
};

export const toReferable = ({ templateId, names, aliases }: TemplateInfo): Referable => ({
  id: templateId,
  names: [...names, ...aliases],
});

/** The id of the only one that begins so, with the tag of the text; the text itself when there is none, or it is a name. */
export function complete(text: string, all: readonly Referable[]): string {
  const [start, tag] = divide(text);
  const isName = all.some(({ names }) => names.flatMap(toForms).includes(start));
  if (isName || start.length < MIN_LENGTH) return text;
  const found = all
    .map(({ id }) => id)
    .filter((id) => {
      const [ownStart, ownTag] = divide(id);
      // The id of a snapshot has its tag; that of a template has none.
      return ownStart.startsWith(start) && (tag === '' || ownTag === '' || ownTag === tag);
    });
  if (found.length > 1) {
    const more = found.length > SHOWN ? ', …' : '';
    throw new UserError(
      `${text} is the beginning of ${found.length} ids: ${found.slice(0, SHOWN).join(', ')}${more}`,
    );
  }
  const [only] = found;
  if (only === undefined) return text;
  return divide(only)[1] === '' ? only + tag : only;
}

/** The text before the tag, and the tag with its colon. */
function divide(text: string): [start: string, tag: string] {
  const at = text.indexOf(':');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

/** A name without its tag, with and without its namespace. */
function toForms(name: string): string[] {
  const [start] = divide(name);
  return [start, start.slice(start.indexOf('/') + 1)];
}
