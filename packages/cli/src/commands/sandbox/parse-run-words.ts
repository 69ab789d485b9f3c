import { UserError } from '@skerry/server/user-error';
import { quoteWords } from './attached/quote-words.ts';

/**
 * Divides what follows the options of `run` into the template before `--` and the command after it. `words` are the last of `argv`,
 * and a `--` in front of all of them is only there. Throws `UserError` for a command without `--`, and for several templates.
 */
export function parseRunWords(
  words: readonly string[],
  argv: readonly string[],
): { template?: string; words: string[] } {
  if (argv.at(-words.length - 1) === '--') return { words: [...words] };
  const [template, mark, ...command] = words;
  if (template === undefined) return { words: [] };
  if (mark !== undefined && mark !== '--')
    throw new UserError(
      `the command comes after --: skerry run -- ${quoteWords([...words].filter((word) => word !== '--'))}`,
    );
  return { template, words: command };
}
