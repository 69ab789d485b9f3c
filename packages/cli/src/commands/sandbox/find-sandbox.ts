import { Sandbox } from '@skerry/sdk';
import { CliError } from '../../cli-error.ts';
import { type Connection, resolveConnection } from '../../connection.ts';

type Flags = Parameters<typeof resolveConnection>[0];

/** A whole id, also in the form of older programs with the id of a client behind it. */
const WHOLE_ID = /^i[a-z0-9]{20}(-.*)?$/;
const SHOWN = 5;
/** All ids begin with the same character, which names none of them. */
const MIN_LENGTH = 3;

/**
 * The server of a command, and the sandbox of the id. The beginning of an id will do when only one sandbox has it; what no sandbox
 * begins with is left as it is, for the service to say what is on record of it. Rejects with `CliError` when several have it.
 */
export async function findSandbox(id: string, flags: Flags): Promise<{ id: string; connection: Connection }> {
  const { ids, connection } = await findSandboxes([id], flags);
  return { id: ids[0] ?? id, connection };
}

/** Looks several ids up together, as `findSandbox` does: one that is not unique rejects before anything is done. */
export async function findSandboxes(
  ids: readonly string[],
  flags: Flags,
): Promise<{ ids: string[]; connection: Connection }> {
  const connection = await resolveConnection(flags);
  if (ids.every((id) => WHOLE_ID.test(id))) return { ids: [...ids], connection };
  const all: string[] = [];
  for await (const { sandboxId } of Sandbox.list(connection)) all.push(sandboxId);
  return { ids: ids.map((id) => (WHOLE_ID.test(id) ? id : complete(id, all))), connection };
}

/** The only one of the ids that begins so; the text itself when there is none. */
export function complete(text: string, all: readonly string[]): string {
  const found = text.length < MIN_LENGTH ? [] : all.filter((id) => id.startsWith(text));
  if (found.length > 1) {
    const more = found.length > SHOWN ? ', …' : '';
    throw new CliError(
      `${text} is the beginning of ${found.length} ids: ${found.slice(0, SHOWN).join(', ')}${more}`,
    );
  }
  return found[0] ?? text;
}
