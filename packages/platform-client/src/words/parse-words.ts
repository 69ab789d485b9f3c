import { PatternTooLongError, removeMatch, replaceMatch } from './glob.ts';

/** A word of a Dockerfile: strings, and variables whose values are not known yet. */
export type WordPart = string | UnknownVariable;

export interface UnknownVariable {
  variable: string;
  operator?: Operator;
  /** What follows the operator. Of a pattern it has the backslashes as they are. */
  operand?: readonly WordPart[];
  /** What a match of the pattern becomes. */
  replacement?: readonly WordPart[];
}

type Operator = '-' | ':-' | '+' | ':+' | '?' | ':?' | '#' | '##' | '%' | '%%' | '/' | '//';

export interface WordRules {
  /** `\`, or what the directive `escape` says. */
  escape: string;
  /** The value of a variable; null when it is unset; undefined when it is not known yet. */
  lookUp: (name: string) => string | null | undefined;
  /** Throws for what is no word. */
  refuse: (message: string) => never;
}

/** The longest string that words become: variables that contain others grow without bound. */
export const MAX_WORD_LENGTH = 128 * 1024;

/** How many variables may be within each other. */
const MAX_DEPTH = 50;

/** How an unprotected character is read. In a heredoc quotes are characters; a pattern keeps its backslashes. */
type Kind = 'plain' | 'quoted' | 'heredoc' | 'pattern';

/**
 * Splits text into words as a Dockerfile does: blanks separate, quotes and the escape character protect, `$NAME` and `${NAME}` are
 * replaced outside of single quotes, also with the operators `-`, `+` and `?`, each after an optional `:`, and `#`, `%` and `/`, single or
 * double. With `whole` the text is one word. With `heredoc` it is one word with quotes as they are, in which a backslash
 * protects `$`, a backtick and itself, and joins lines.
 */
export function parseWords(
  text: string,
  rules: WordRules,
  { whole = false, heredoc = false }: { whole?: boolean; heredoc?: boolean } = {},
): WordPart[][] {
  const reader = createReader(text, rules);
  if (heredoc) return [reader.read('heredoc', '')];
  const words: WordPart[][] = [];
  if (whole) return text === '' ? [] : [reader.read('plain', '')];
  for (;;) {
    reader.skipBlanks();
    if (reader.isAtEnd()) return words;
    words.push(reader.read('plain', ' \t\r\n'));
  }
}

const createReader = (text: string, rules: WordRules) => {
  let at = 0;
  let depth = 0;

  const take = (form: RegExp): string => {
    form.lastIndex = at;
    const [found = ''] = form.exec(text) ?? [];
    at += found.length;
    return found;
  };

  /** Reads to the first unprotected character of `stops`, which stays, or to the end. */
  const read = (kind: Kind, stops: string): WordPart[] => {
    const word: WordPart[] = [''];
    let length = 0;
    const add = (part: WordPart): void => {
      const last = word.at(-1);
      if (typeof part !== 'string') {
        word.push(part);
        return;
      }
      length += part.length;
      if (length > MAX_WORD_LENGTH)
        rules.refuse(`with its variables the text takes more than ${MAX_WORD_LENGTH / 1024} KiB`);
      if (typeof last === 'string') word[word.length - 1] = last + part;
      else word.push(part);
    };
    while (at < text.length) {
      const char = text[at] ?? '';
      if (stops.includes(char)) break;
      if (char === rules.escape) add(readEscape(kind));
      else if (char === '$') for (const part of readVariable(kind)) add(part);
      else if (kind !== 'heredoc' && kind !== 'quoted' && (char === '"' || char === "'"))
        for (const part of readQuoted(char))
          add(kind === 'pattern' && typeof part === 'string' ? part.replaceAll(/[\\*?]/g, '\\$&') : part);
      else {
        add(char);
        at += 1;
      }
    }
    // A word of a variable alone has no empty string before it.
    return word.length > 1 && word[0] === '' ? word.slice(1) : word;
  };

  const readEscape = (kind: Kind): string => {
    const char = text[at] ?? '';
    const next = text[at + 1];
    at += 2;
    if (next === undefined) return kind === 'plain' ? '' : char;
    if (kind === 'pattern') return `\\${next}`;
    if (kind === 'heredoc') return next === '\n' ? '' : ['$', '`', char].includes(next) ? next : char + next;
    // In double quotes the escape character protects only what means something there.
    return kind === 'plain' || ['"', '$', char].includes(next) ? next : char + next;
  };

  const readQuoted = (quote: string): WordPart[] => {
    at += 1;
    if (quote === '"') {
      const word = read('quoted', '"');
      requireNext('"', 'a quote " is not closed');
      return word;
    }
    const end = text.indexOf("'", at);
    if (end < 0) rules.refuse("a quote ' is not closed");
    const inside = text.slice(at, end);
    at = end + 1;
    return [inside];
  };

  const requireNext = (char: string, message: string): void => {
    if (text[at] !== char) rules.refuse(message);
    at += 1;
  };

  const toParts = (name: string): readonly WordPart[] => {
    const value = /^[A-Za-z_]/.test(name) ? rules.lookUp(name) : null;
    return value === undefined ? [{ variable: name }] : [value ?? ''];
  };

  /** Reads a variable at its `$`. Numbers and signs, such as `$1` and `$@`, are variables of a shell that are unset here. */
  const readVariable = (kind: Kind): readonly WordPart[] => {
    const from = at;
    at += 1;
    if (text[at] !== '{') {
      const name = take(/[A-Za-z_]\w*|\d+|[@*#?$!-]/y);
      return name === '' ? ['$'] : toParts(name);
    }
    at += 1;
    const toShown = (): string => JSON.stringify(text.slice(from, at + 1));
    const name = take(/[A-Za-z_]\w*|\d+|[@*#?$!-]/y);
    if (name === '') return rules.refuse(`${toShown()} is no variable`);
    if (text[at] === '}') {
      at += 1;
      return toParts(name);
    }
    const operator = take(/:?[-+?]|##?|%%?|\/\/?/y) as Operator | '';
    if (operator === '') return rules.refuse(`${toShown()} has an operator that is not supported`);
    depth += 1;
    if (depth > MAX_DEPTH) rules.refuse(`more than ${MAX_DEPTH} variables are within each other`);
    const inner = kind === 'heredoc' ? 'heredoc' : 'plain';
    const isPattern = /[#%/]/.test(operator);
    const operand = read(isPattern ? 'pattern' : inner, operator.startsWith('/') ? '/}' : '}');
    let replacement: WordPart[] | undefined;
    if (operator.startsWith('/')) {
      if (text[at] === '/') at += 1;
      replacement = read(inner, '}');
    }
    requireNext('}', `"$\{${name}${operator}" is not closed`);
    depth -= 1;
    return apply({ variable: name, operator, operand, ...(replacement && { replacement }) }, rules);
  };

  return {
    read,
    skipBlanks: () => void take(/\s*/y),
    isAtEnd: () => at >= text.length,
  };
};

/** The parts that a variable with an operator becomes: itself, while it or what is needed beside it is not known. */
const apply = (
  unknown: UnknownVariable & { operator: Operator; operand: readonly WordPart[] },
  { lookUp, refuse }: WordRules,
): readonly WordPart[] => {
  const { variable, operator, operand, replacement = [] } = unknown;
  const value = /^[A-Za-z_]/.test(variable) ? lookUp(variable) : null;
  if (value === undefined) return [unknown];
  const isSet = value !== null && !(operator.startsWith(':') && value === '');
  switch (operator) {
    case '-':
    case ':-':
      return isSet ? [value ?? ''] : operand;
    case '+':
    case ':+':
      return isSet ? operand : [];
    case '?':
    case ':?':
      return isSet ? [value ?? ''] : refuse(`${variable} is not set: ${toText(operand) ?? ''}`);
    default: {
      const pattern = toText(operand);
      const other = toText(replacement);
      if (pattern === undefined || other === undefined) return [unknown];
      return [change(value ?? '', { operator, pattern, replacement: other, refuse })];
    }
  }
};

const change = (
  value: string,
  options: { operator: Operator; pattern: string; replacement: string; refuse: WordRules['refuse'] },
): string => {
  const { operator, pattern, replacement, refuse } = options;
  try {
    if (operator.startsWith('/'))
      return replaceMatch(value, pattern, { replacement, all: operator === '//' });
    return removeMatch(value, pattern, {
      at: operator.startsWith('#') ? 'start' : 'end',
      longest: operator.length === 2,
    });
  } catch (error) {
    if (!(error instanceof PatternTooLongError)) throw error;
    return refuse(error.message);
  }
};

/** The text of a word in which all is known; undefined for another. */
export function toText(word: readonly WordPart[]): string | undefined {
  return word.every((part) => typeof part === 'string') ? word.join('') : undefined;
}

/** Writes a word as text that `parseWords` reads with `whole` and the escape character `\`, to find what was not known before. */
export function writeWord(word: readonly WordPart[]): string {
  return word
    .map((part) => (typeof part === 'string' ? part.replaceAll(/[\\"'$}]/g, '\\$&') : writeVariable(part)))
    .join('');
}

const writeVariable = ({ variable, operator, operand, replacement }: UnknownVariable): string => {
  if (operator === undefined || operand === undefined) return `\${${variable}}`;
  const isPattern = /[#%/]/.test(operator);
  const first = isPattern ? writePattern(operand) : writeWord(operand);
  return `\${${variable}${operator}${first}${replacement ? `/${writeWord(replacement)}` : ''}}`;
};

/** Backslashes are in a pattern already. */
const writePattern = (word: readonly WordPart[]): string =>
  word
    .map((part) =>
      typeof part === 'string'
        ? part.replaceAll(/\\[\s\S]|["'$}/]/g, (found) => (found.length === 2 ? found : `\\${found}`))
        : writeVariable(part),
    )
    .join('');
