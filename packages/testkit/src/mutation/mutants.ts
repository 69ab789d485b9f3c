import { stripTypeScriptTypes } from 'node:module';

/** One small defect of a source file. */
export interface Mutant {
  line: number;
  /** What is replaced, and by what. */
  from: string;
  to: string;
  /** The line of source without the defect and with it, not indented. */
  intact: string;
  defect: string;
  /** The whole file with it. */
  source: string;
}

/** What is looked for outside of comments, and what takes its place; `$1` and so on are groups. */
const operators: [find: RegExp, replacements: string[]][] = [
  [/===/g, ['!==']],
  [/!==/g, ['===']],
  [/ (<|>)=? (?=[\w(])/g, [' == ', ' >= ', ' <= ']],
  [/&&/g, ['||']],
  [/\|\|/g, ['&&']],
  [/\?\?(?!=)/g, ['&&']],
  [/(?<=[\w)\]]) \+ /g, [' - ']],
  [/(?<=[\w)\]]) - /g, [' + ']],
  [/(?<=[\w)\]]) \* /g, [' / ']],
  [/(?<![=!<>\w])!(?=[\w(])/g, ['']],
  [/\btrue\b/g, ['false']],
  [/\bfalse\b/g, ['true']],
  [/\bMath\.min\b/g, ['Math.max']],
  [/\bMath\.max\b/g, ['Math.min']],
  [/\bif \(/g, ['if (true || ', 'if (false && ']],
  [/(?<![\w.])\d[\d_]*(?![\w.])/g, ['($&+1)']],
  // But no messages, which are for people to read.
  [/'[^'\s]+'/g, ["''"]],
  // A statement that is a call.
  [/(?<=^\s+)(?:await |void )?[a-zA-Z][\w.?]*\([^;\n]*\);$/gm, [';']],
  [/(?<=^\s+)throw [^;\n]+;$/gm, [';']],
  [/(?<=^\s+)continue;$/gm, [';']],
  // Rules of nftables.
  [/(?<=^ +)(?:[io]ifname|ip|ct|meta|fib|ether) [^\n;]*$/gm, ['']],
  [/\baccept(?=;? *\n| \})/g, ['drop']],
  [/\bdrop(?=;? *\n| \})/g, ['accept']],
];

/** Where a defect would change nothing that runs: imports, and what stands in types. */
const inert = /^import [\s\S]*?;$|^(?:export )?interface [\s\S]*?^\}|^(?:export )?type [\s\S]*?;$/gm;

/** Comments, and the two kinds of text. */
const notCode = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;

/** The parts of a template that are no expression. */
const templateText = /(?<=[`}])[^`{}]*?(?=\$\{|`)/g;

type Span = readonly [begin: number, end: number];

const toSpan = ({ index, 0: { length } }: RegExpExecArray, offset = 0): Span => [
  index + offset,
  index + offset + length,
];

/** Comments and messages, which are for people to read: texts with a blank in them. */
const listProse = (text: string): Span[] =>
  [...text.matchAll(notCode)].flatMap((found) => {
    const [token] = found;
    if (token.startsWith('/') || (token.startsWith("'") && /\s/.test(token))) return [toSpan(found)];
    // Those of several lines are programs.
    if (!token.startsWith('`') || token.includes('\n')) return [];
    return [...token.matchAll(templateText)]
      .filter(([piece]) => /\s/.test(piece))
      .map((piece) => toSpan(piece, found.index));
  });

/** What runs of a source text, or undefined when it does not parse. */
const toRunning = (source: string): string | undefined => {
  try {
    return stripTypeScriptTypes(source).replaceAll(/\s+/g, ' ');
  } catch {
    return undefined;
  }
};

const lineAt = (text: string, index: number): string =>
  text.slice(text.lastIndexOf('\n', index - 1) + 1, text.indexOf('\n', index)).trim();

/** Every defect of the table above in a source text. Those that do not parse or change only types are left out. */
export const listMutants = (text: string): Mutant[] => {
  const spans = [...[...text.matchAll(inert)].map((found) => toSpan(found)), ...listProse(text)];
  const isInert = (at: number): boolean => spans.some(([begin, end]) => at >= begin && at < end);
  const mutants = operators.flatMap(([find, replacements]) =>
    [...text.matchAll(find)]
      .filter(({ index }) => !isInert(index))
      .flatMap(({ index, 0: from }) =>
        replacements
          .map((replacement) => replacement.replace('$&', from))
          .filter((to) => to.trim() !== from.trim())
          .map((to) => {
            const source = text.slice(0, index) + to + text.slice(index + from.length);
            const line = text.slice(0, index).split('\n').length;
            return { line, from, to, intact: lineAt(text, index), defect: lineAt(source, index), source };
          }),
      ),
  );
  const intact = toRunning(text);
  return mutants
    .filter(({ source }) => {
      const running = toRunning(source);
      return running !== undefined && running !== intact;
    })
    .sort((a, b) => a.line - b.line);
};
