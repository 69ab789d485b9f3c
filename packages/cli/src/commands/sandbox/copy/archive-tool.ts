import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { CommandExitError, type Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { HELPER_TAG } from '../attached/helper-tag.ts';
import { quoteWords } from '../attached/quote-words.ts';
import type { CopyOptions } from './copy-options.ts';

type ToolOptions = Pick<CopyOptions, 'user' | 'signal'>;

/** Where something stands in a folder of a sandbox while it is copied. */
export const temporaryPath = (folder = '/tmp'): string => posix.join(folder, `.skerry-copy-${randomUUID()}`);

/**
 * Runs a program of the sandbox on a path to its end, without limit of time. A relative path begins in the home, as those of files do.
 * Rejects with a `UserError` that says what it complained about.
 */
export async function runTool(
  sandbox: Sandbox,
  { words, path }: { words: string[]; path: string },
  options: ToolOptions,
): Promise<void> {
  // Some users have no home.
  const cwd = posix.isAbsolute(path) ? '/' : '~';
  try {
    await sandbox.commands.run(quoteWords(words), { ...options, cwd, timeoutMs: 0, tag: HELPER_TAG });
  } catch (error) {
    if (!(error instanceof CommandExitError)) throw error;
    throw new UserError(`in the sandbox: ${error.stderr.trim() || error.message}`);
  }
}

/** Prints the path, or the nearest folder above that exists, when the user may not write there. */
const FIND_OBSTACLE = `p=$1
while [ ! -e "$p" ]; do case $p in */*) p=\${p%/*}; p=\${p:-/};; *) p=.;; esac; done
[ -w "$p" ] || { echo "no right to write to $p: --user root has it" >&2; exit 1; }`;

/** Rejects with `UserError` when the user may not write the path. The agent writes files for every user, and would not refuse it. */
export const requireWritable = (sandbox: Sandbox, path: string, options: ToolOptions): Promise<void> =>
  runTool(sandbox, { words: ['sh', '-c', FIND_OBSTACLE, 'sh', path], path }, options);

/** Removes a path of the sandbox, also after the copy was interrupted, or reports nothing: the sandbox may have ended. */
export async function discard(sandbox: Sandbox, path: string, { user }: ToolOptions): Promise<void> {
  await sandbox.files.remove(path, { user, requestTimeoutMs: DISCARD_MS }).catch(() => {
    // What the copy failed with says why; another error here would hide it.
  });
}

const DISCARD_MS = 10_000;
