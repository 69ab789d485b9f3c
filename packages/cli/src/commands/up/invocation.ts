import { basename, dirname, resolve } from 'node:path';
import { quoteWord } from '../sandbox/attached/quote-words.ts';

/** How a user calls this program, to be pasted into another terminal. */
export interface Invocation {
  /** The words before a command, such as `skerry` or `npx skerry`. */
  command: string;
  /** The folder in which it has to be called; absent where any will do. */
  folder?: string;
  /** Whether the user is another than the one as whom it runs, and has called it by sudo. */
  bySudo?: true;
}

/** The form in which this process was called, from its arguments and environment. */
export function toInvocation(argv: readonly string[], env: NodeJS.ProcessEnv): Invocation {
  return { ...toCommand(argv, env), ...(env.SUDO_USER ? { bySudo: true } : {}) };
}

function toCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Invocation {
  // Set by scripts/run.mjs.
  if (env.SKERRY_CHECKOUT) return { command: 'npm run -s skerry --', folder: env.SKERRY_CHECKOUT };
  if (env.npm_command === 'exec') return { command: 'npx skerry' };
  const program = resolve(argv[1] ?? '');
  if (basename(program) !== 'skerry') return { command: `node ${quoteWord(program)}` };
  const isOnPath = (env.PATH ?? '').split(':').includes(dirname(program));
  return { command: isOnPath ? 'skerry' : quoteWord(program) };
}
