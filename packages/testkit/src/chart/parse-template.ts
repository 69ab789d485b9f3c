/** A term of an expression of a template. */
export type Term =
  | { kind: 'value'; value: unknown }
  /** From the dot, or with `isRoot` from the whole. */
  | { kind: 'field'; path: string[]; isRoot: boolean }
  | { kind: 'pipe'; pipe: Pipe };
/** A function with its arguments, or one term alone. */
export type Call = { name: string; terms: Term[] } | { term: Term };
export type Pipe = Call[];

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'print'; pipe: Pipe }
  | { kind: 'if' | 'with' | 'range'; pipe: Pipe; body: Part[]; otherwise: Part[] }
  | { kind: 'define'; name: string; body: Part[] };

/**
 * Parses the part of the language of templates that the chart uses: text, pipes, `if`, `else`, `with`, `range` and `define`. Throws for
 * anything else, so that the chart does not leave that part.
 */
export const parseTemplate = (source: string): Part[] => {
  const tokens = tokenize(source);
  let at = 0;

  const parseBody = (isInside: boolean): { parts: Part[]; end: string } => {
    const parts: Part[] = [];
    for (;;) {
      const token = tokens[at];
      at += 1;
      if (token === undefined) {
        if (isInside) throw new Error('a block has no end');
        return { parts, end: '' };
      }
      if (token.kind === 'text') {
        parts.push(token);
        continue;
      }
      const [, word = '', rest = ''] = token.text.match(/^(if|with|range|define|else|end)\b\s*(.*)$/s) ?? [];
      if (word === 'end' || word === 'else') {
        if (!isInside || rest !== '') throw new Error(`not expected: ${token.text}`);
        return { parts, end: word };
      }
      if (word === 'define') {
        const { parts: body } = parseBody(true);
        parts.push({ kind: 'define', name: JSON.parse(rest) as string, body });
      } else if (word === 'if' || word === 'with' || word === 'range') {
        const { parts: body, end } = parseBody(true);
        const otherwise = end === 'else' ? parseBody(true).parts : [];
        parts.push({ kind: word, pipe: parsePipe(rest), body, otherwise });
      } else parts.push({ kind: 'print', pipe: parsePipe(token.text) });
    }
  };
  return parseBody(false).parts;
};

type Token = { kind: 'text'; text: string } | { kind: 'action'; text: string };

const tokenize = (source: string): Token[] => {
  const tokens: Token[] = [];
  let trimsNext = false;
  let last = 0;
  const addText = (to: number, trimsEnd: boolean): void => {
    let text = source.slice(last, to);
    if (trimsNext) text = text.trimStart();
    if (trimsEnd) text = text.trimEnd();
    if (text !== '') tokens.push({ kind: 'text', text });
  };
  for (const match of source.matchAll(/\{\{(- )?(-)?((?:"[^"]*"|`[^`]*`|(?!\}\}).)*?)( -)?\}\}/gs)) {
    const [whole, before, , text = '', after] = match;
    const isComment = text.trim().startsWith('/*');
    const trimsBefore = before !== undefined || match[2] !== undefined;
    addText(match.index, trimsBefore);
    if (!isComment) tokens.push({ kind: 'action', text: text.trim() });
    trimsNext = after !== undefined;
    last = match.index + whole.length;
  }
  addText(source.length, false);
  return tokens;
};

const parsePipe = (text: string): Pipe => {
  const words = [...text.matchAll(/"[^"]*"|[()|]|[^\s()|]+/g)].map(([word]) => word);
  let at = 0;

  const parseTerm = (): Term => {
    const word = words[at] ?? '';
    at += 1;
    if (word === '(') {
      const pipe = parse();
      if (words[at] !== ')') throw new Error(`no closing parenthesis: ${text}`);
      at += 1;
      return { kind: 'pipe', pipe };
    }
    if (word.startsWith('"') || /^-?\d+$/.test(word) || word === 'true' || word === 'false')
      return { kind: 'value', value: JSON.parse(word) as unknown };
    const [, root, path] = word.match(/^(\$?)\.((?:[A-Za-z]\w*)(?:\.[A-Za-z]\w*)*)?$/) ?? [];
    if (root === undefined) throw new Error(`unknown term ${word}: ${text}`);
    return { kind: 'field', path: path?.split('.') ?? [], isRoot: root === '$' };
  };

  const parseCall = (): Call => {
    const word = words[at] ?? '';
    if (!/^[a-z]\w*$/i.test(word) || word === 'true' || word === 'false') return { term: parseTerm() };
    at += 1;
    const terms: Term[] = [];
    while (at < words.length && words[at] !== '|' && words[at] !== ')') terms.push(parseTerm());
    return { name: word, terms };
  };

  const parse = (): Pipe => {
    const pipe = [parseCall()];
    while (words[at] === '|') {
      at += 1;
      pipe.push(parseCall());
    }
    return pipe;
  };
  const pipe = parse();
  if (at < words.length) throw new Error(`not understood: ${text}`);
  return pipe;
};
