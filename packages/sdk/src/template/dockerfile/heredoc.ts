import { parseWords, toText, type WordRules } from '@skerry/platform-client/words';

/** A heredoc of an instruction. */
export interface ParsedHeredoc extends HeredocStart {
  /** The lines, each with its newline. */
  content: string;
}

export interface HeredocStart {
  /** The whole word, such as `<<-"EOF"`. */
  word: string;
  delimiter: string;
  /** Whether no part of the delimiter is quoted, so that variables are replaced. */
  expands: boolean;
  /** Whether tabs at the beginning of lines are left out. */
  chomps: boolean;
}

/** Finds the words of an instruction that begin heredocs. `<<` within another word, as in quotes or `$((1<<2))`, is none. */
export function findHeredocs(text: string): HeredocStart[] {
  if (!text.includes('<<')) return [];
  return splitRaw(text).flatMap((word): HeredocStart[] => {
    const [, chomp, rest = ''] = /^\d*<<(-?)([^<]+)$/.exec(word) ?? [];
    if (rest === '') return [];
    const delimiter = toDelimiter(rest);
    if (delimiter === undefined) return [];
    return [{ word, delimiter, expands: delimiter === rest, chomps: chomp === '-' }];
  });
}

/** A line as it is compared with the delimiter of a heredoc. */
export const toEnd = (line: string, { chomps }: HeredocStart): string =>
  chomps ? line.replace(/^\t+/, '') : line;

/** The content as it is used: `<<-` removes tabs at the beginning of each line. */
export const toScript = ({ chomps, content }: ParsedHeredoc): string =>
  chomps ? content.replaceAll(/^\t+/gm, '') : content;

/** The words between blanks, with their quotes. A quote that is not closed holds the rest. */
const splitRaw = (text: string): string[] =>
  text.match(/(?:\\[\s\S]|"(?:\\[\s\S]|[^"\\])*(?:"|$)|'[^']*(?:'|$)|[^\s"'\\]|\\$)+/g) ?? [];

/** Undefined for what is no single word. */
function toDelimiter(text: string): string | undefined {
  const rules: WordRules = {
    escape: '\\',
    // A shell replaces no variable there, either.
    lookUp: (name) => `$${name}`,
    refuse: (message) => {
      throw new NoWordError(message);
    },
  };
  try {
    const [word, ...others] = parseWords(text, rules);
    return word && others.length === 0 ? toText(word) : undefined;
  } catch (error) {
    if (error instanceof NoWordError) return undefined;
    throw error;
  }
}

class NoWordError extends Error {}
