import { splitFlags } from './flags.ts';
import { findHeredocs, type ParsedHeredoc, toEnd } from './heredoc.ts';
import { refuse } from './refused.ts';

/** One instruction of a Dockerfile. */
export interface ParsedInstruction {
  keyword: string;
  /** From 1. */
  line: number;
  /** The arguments without flags, comments and ends of continued lines, and without the contents of heredocs. */
  text: string;
  flags: readonly { name: string; value: string }[];
  heredocs: readonly ParsedHeredoc[];
}

export interface ParsedFile {
  /** `\`, or what the directive `escape` says. */
  escapeChar: string;
  instructions: readonly ParsedInstruction[];
}

/** Instructions that read heredocs. */
const withHeredocs = ['RUN', 'COPY', 'ADD'];
const directives = ['syntax', 'escape', 'check'];

/**
 * Reads the instructions of a Dockerfile: joins continued lines without the comments and empty lines between them, and takes the lines of
 * heredocs. Directives are looked for unless the escape character is given. Throws `DockerfileError` for a directive that is wrong, a heredoc
 * without an end, and an unknown flag.
 */
export function readInstructions(source: string, givenEscape?: string): ParsedFile {
  const lines = source.replace(/^\uFEFF/, '').split(/\r?\n/);
  const escapeChar = givenEscape ?? readEscape(lines);
  const instructions: ParsedInstruction[] = [];
  for (let at = 0; at < lines.length; ) {
    const first = at;
    const { text, next } = joinLines(lines, { from: at, escapeChar });
    at = next;
    if (text.trim() === '') continue;
    const line = first + 1;
    const [, keyword = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
    const name = keyword.toUpperCase();
    const { flags, text: own } = splitFlags(rest.trim(), { keyword: name, line, escapeChar });
    const heredocs: ParsedHeredoc[] = [];
    if (withHeredocs.includes(name) && parseJsonForm(own) === undefined)
      for (const heredoc of findHeredocs(own)) {
        const end = lines.findIndex((one, index) => index >= at && toEnd(one, heredoc) === heredoc.delimiter);
        if (end < 0) refuse(line, `the heredoc ${heredoc.delimiter} has no end`);
        const content = lines.slice(at, end).map((one) => `${one}\n`);
        heredocs.push({ ...heredoc, content: content.join('') });
        at = end + 1;
      }
    instructions.push({ keyword: name, line, text: own, flags, heredocs });
  }
  return { escapeChar, instructions };
}

/** Directives are comments at the beginning: the first line that is none ends them. */
function readEscape(lines: readonly string[]): string {
  const seen = new Set<string>();
  let escapeChar = '\\';
  for (const [index, text] of lines.entries()) {
    const [, key = '', value = ''] = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(text) ?? [];
    const name = key.toLowerCase();
    if (!directives.includes(name)) return escapeChar;
    if (seen.has(name)) refuse(index + 1, `the directive ${name} is there twice`);
    seen.add(name);
    if (name !== 'escape') continue;
    if (value !== '\\' && value !== '`')
      refuse(index + 1, `escape must be a backslash or a backtick, got "${value}"`);
    escapeChar = value;
  }
  return escapeChar;
}

/** A line with those that continue it, and the index of the line after them. An empty text is a comment. */
function joinLines(
  lines: readonly string[],
  { from, escapeChar }: { from: number; escapeChar: string },
): { text: string; next: number } {
  // An escape character before the last one makes that a character.
  const continued = escapeChar === '\\' ? /(?<!\\)\\[ \t]*$/ : /(?<!`)`[ \t]*$/;
  let text = '';
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const isBlank = /^\s*(?:#|$)/.test(line);
    if (isBlank && at === from) return { text: '', next: at + 1 };
    if (isBlank) continue;
    if (!continued.test(line)) return { text: text + line, next: at + 1 };
    text += line.replace(continued, '');
  }
  return { text, next: lines.length };
}

/** The words of the JSON form of an instruction; undefined for the shell form. */
export function parseJsonForm(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : undefined;
  } catch {
    // Docker takes what is no JSON for the shell form, too.
    return undefined;
  }
}
