import { NotFoundError, Sandbox, SandboxError } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, report } from '../../output/print.ts';
import { showTransfer } from '../../output/show-transfer.ts';
import { parseTotalCount } from '../parse-count.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import { explainCall } from './attached/explain-call.ts';
import { copyIn } from './copy/copy-in.ts';
import { copyOut } from './copy/copy-out.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { user?: string; maxSize?: number; json?: boolean };

/** A sandbox may send a folder of any number of links. */
const MOST_NAMED = 10;

/**
 * `skerry sandbox cp SOURCE DESTINATION`, one of which is `ID:PATH`: copies a file or a folder into or out of a
 * sandbox.
 */
export function copySandboxCommand(): Command {
  return withConnectionFlags(
    new Command('cp')
      .description('copy a file or a folder into or out of a sandbox')
      .argument('<source>', 'PATH here, or ID:PATH in a sandbox')
      .argument('<destination>', 'ID:PATH in a sandbox, or PATH here; into it when it is a folder')
      .option('-u, --user <name>', 'user of the sandbox: owner of what is written, home of relative paths')
      .option(
        '--max-size <MiB>',
        'the most that is received, which the sandbox decides otherwise (default: no limit)',
        parseTotalCount,
      )
      .option('--json', 'one JSON object, with the bytes that were sent or received')
      .addHelpText(
        'after',
        `
Modes and symbolic links are kept. A folder travels as one archive, for which the sandbox needs "tar". Out of a
sandbox, links that lead out of the folder are left out, and so are set-user-id bits. A copy that is interrupted
leaves nothing.`,
      ),
  ).action(async (source: string, destination: string, { user, maxSize, json, ...flags }: Flags) => {
    const [from, to] = [parsePlace(source), parsePlace(destination)];
    if ((from.id === undefined) === (to.id === undefined))
      throw new UserError('one of the two is ID:PATH in a sandbox, the other a path on this machine');
    if (from.id === undefined && maxSize !== undefined)
      throw new UserError('--max-size is for a copy out of a sandbox');
    const id = (from.id ?? to.id) as string;
    const { connection, ...found } = await findReference('sandbox', id, flags);
    const { bytes, leftOut } = await untilInterrupted(async (signal) => {
      const sandbox = await Sandbox.connect(found.id, { ...connection, signal });
      return copy(sandbox, {
        from: from.path,
        to: to.path,
        isOut: to.id === undefined,
        user,
        maxSize,
        signal,
      });
    });
    if (json) printJson({ sandboxId: found.id, source, destination, bytes, leftOut });
  });
}

interface Copy {
  from: string;
  to: string;
  isOut: boolean;
  user: string | undefined;
  maxSize: number | undefined;
  signal: AbortSignal;
}

/** Resolves with the bytes that have passed, and the number of entries that were left out. */
async function copy(
  sandbox: Sandbox,
  { from, to, isOut, user, maxSize, signal }: Copy,
): Promise<{ bytes: number; leftOut: number }> {
  using transfer = showTransfer();
  let leftOut = 0;
  const onLeftOut = (path: string, reason: string): void => {
    leftOut += 1;
    if (leftOut <= MOST_NAMED) transfer.interject(() => report(`${path} is left out: ${reason}`));
  };
  try {
    const maxBytes = maxSize === undefined ? undefined : maxSize * 2 ** 20;
    if (isOut) await copyOut(sandbox, from, to, { user, signal, transfer, maxBytes, onLeftOut });
    else await copyIn(sandbox, from, to, { user, signal, transfer });
  } catch (error) {
    // A file is missing, not the sandbox, and a list of sandboxes does not help.
    if (error instanceof NotFoundError) throw new UserError(error.message);
    const isTooLarge = error instanceof SandboxError && error.code === 'too_large';
    throw isTooLarge
      ? new UserError(`${from} has more than --max-size, which is ${maxSize} MiB`)
      : await explainCall(error, { sandbox, user });
  }
  if (leftOut > MOST_NAMED) transfer.interject(() => report(`${leftOut - MOST_NAMED} more are left out`));
  return { bytes: transfer.passedBytes, leftOut };
}

/** `./a:b` and `/a:b` are paths of this machine, whose names may hold colons. */
function parsePlace(text: string): { id?: string; path: string } {
  const [, id, path] = /^(i[a-z0-9]+):(.*)$/s.exec(text) ?? [];
  if (id === undefined || path === undefined) return { path: text };
  return { id, path: path === '' ? '.' : path };
}
