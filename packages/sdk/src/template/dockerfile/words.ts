/** A word of an instruction: text, and variables whose values only the build knows. */
export type WordPart = string | { variable: string };

export interface WordRules {
  /** `\`, or what the directive `escape` says. */
  escape: string;
  /** The value of a variable; null when it is unset; undefined when only the build knows it. */
  lookUp: (name: string) => string | null | undefined;
  refuse: (message: string) => never;
}

const NAME = /^[A-Za-z_]\w*/;

/**
 * Splits text into words as Docker does: blanks separate, quotes and the escape character protect, `$NAME`, `${NAME}` and
 * `${NAME:-default}` are replaced outside of single quotes. With `whole` the text is one word; with `raw` also quotes and
 * escape characters are kept, as in a heredoc.
 */
export function parseWords(
  text: string,
  rules: WordRules,
  { whole = false, raw = false } = {},
): WordPart[][] {
  const words: WordPart[][] = [];
  let word: WordPart[] | undefined;
  let quote: '"' | "'" | undefined;
  const add = (part: WordPart): void => {
    word ??= [];
    const last = word.at(-1);
    if (typeof part === 'string' && typeof last === 'string') word[word.length - 1] = last + part;
    else word.push(part);
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string;
    const next = text[at + 1];
    if (quote === "'") {
      if (char === quote) quote = undefined;
      else add(char);
    } else if (char === rules.escape && next !== undefined) {
      // In double quotes it protects only what means something there.
      const isProtected = (quote === undefined && !raw) || (!raw && ['"', '$', rules.escape].includes(next));
      add(isProtected ? next : char + next);
      at += 1;
    } else if (char === '$') {
      const { parts, length } = parseVariable(text.slice(at), rules);
      for (const part of parts) add(part);
      at += length - 1;
    } else if (char === quote) {
      quote = undefined;
    } else if (!raw && quote === undefined && (char === '"' || char === "'")) {
      quote = char;
      add('');
    } else if (quote === undefined && !whole && /\s/.test(char)) {
      if (word) words.push(word);
      word = undefined;
    } else {
      add(char);
    }
  }
  if (quote !== undefined) rules.refuse(`a quote ${quote} is not closed`);
  if (word) words.push(word);
  return words;
}

/** The variable at the beginning of the text, which begins with `$`. */
function parseVariable(text: string, rules: WordRules): { parts: WordPart[]; length: number } {
  const plain = NAME.exec(text.slice(1))?.[0];
  if (plain !== undefined) return { parts: toParts(plain, rules), length: plain.length + 1 };
  if (text[1] !== '{') return { parts: ['$'], length: 1 };
  const length = findEnd(text, rules) + 1;
  const inside = text.slice(2, length - 1);
  const name = NAME.exec(inside)?.[0] ?? rules.refuse(`"${text.slice(0, length)}" is no variable`);
  const rest = inside.slice(name.length);
  if (rest === '') return { parts: toParts(name, rules), length };
  const [, colon, operator = '', other = ''] = /^(:?)([-+])([\s\S]*)$/.exec(rest) ?? [];
  if (operator === '') rules.refuse(`"${text.slice(0, length)}" is not supported, only :- and :+ are`);
  const value = rules.lookUp(name);
  if (value === undefined)
    rules.refuse(`"${text.slice(0, length)}" depends on ${name} of the image, which only the build knows`);
  const isSet = value !== null && !(colon && value === '');
  const alternative = (): WordPart[] => parseWords(other, rules, { whole: true })[0] ?? [];
  if (operator === '-') return { parts: isSet ? [value as string] : alternative(), length };
  return { parts: isSet ? alternative() : [], length };
}

const toParts = (name: string, { lookUp }: WordRules): WordPart[] => {
  const value = lookUp(name);
  return value === undefined ? [{ variable: name }] : [value ?? ''];
};

/** The index of the brace that closes `${`; braces may be nested. */
function findEnd(text: string, rules: WordRules): number {
  let depth = 0;
  for (let at = 1; at < text.length; at += 1) {
    if (text[at] === rules.escape) at += 1;
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return rules.refuse('"${" is not closed');
}
