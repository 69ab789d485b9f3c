import { Copy, type Heredoc, type Instruction, Run } from 'dockerfile-ast';
import { refuse } from './refused.ts';

/** One instruction of a Dockerfile. */
export interface ParsedInstruction {
  keyword: string;
  /** From 1. */
  line: number;
  /** Its arguments without flags, comments and ends of continued lines, and without the contents of heredocs. */
  text: string;
  flags: readonly { name: string; value: string }[];
  heredocs: readonly ParsedHeredoc[];
}

export interface ParsedHeredoc {
  /** As written after `<<`, with quotes and `-`. */
  operator: string;
  delimiter: string;
  /** With the newline at its end. */
  content: string;
}

/** The lines of the whole file, and its escape character. */
export interface DockerfileText {
  lines: readonly string[];
  escape: string;
}

/** Throws `DockerfileError` for a heredoc without an end. */
export function toParsedInstruction(instruction: Instruction, file: DockerfileText): ParsedInstruction {
  const { start, end } = instruction.getRange();
  const line = start.line + 1;
  const found = instruction instanceof Run || instruction instanceof Copy ? instruction.getHeredocs() : [];
  const last = Math.max(...found.map((heredoc) => heredoc.getStartRange().start.line), -1);
  const own = file.lines.slice(start.line, (found.length === 0 ? end.line : last) + 1);
  const [, flags = '', text = ''] =
    /^\s*\S+\s*((?:--[a-z-]+(?:=\S*)?(?:\s+|$))*)([\s\S]*)$/.exec(join(own, file)) ?? [];
  return {
    keyword: instruction.getKeyword(),
    line,
    text: text.trim(),
    flags: [...flags.matchAll(/--([a-z-]+)(?:=(\S*))?/g)].map(([, name = '', value = '']) => ({
      name,
      value,
    })),
    heredocs: found.map((heredoc) => toHeredoc(heredoc, file, line)),
  };
}

/** Joins continued lines as Docker does, which leaves out comments and empty lines between them. The parser keeps some of these. */
function join(lines: readonly string[], file: DockerfileText): string {
  let joined = '';
  for (const [index, line] of lines.entries()) {
    if (index > 0 && (/^\s*#/.test(line) || line.trim() === '')) continue;
    const trimmed = line.trimEnd();
    if (!trimmed.endsWith(file.escape)) return joined + line;
    joined += trimmed.slice(0, -1);
  }
  return joined;
}

function toHeredoc(heredoc: Heredoc, { lines }: DockerfileText, line: number): ParsedHeredoc {
  const end = heredoc.getDelimiterRange() ?? refuse(line, `the heredoc ${heredoc.getName()} has no end`);
  const { start, end: startEnd } = heredoc.getStartRange();
  const nameEnd = heredoc.getNameRange().end;
  const from = heredoc.getContentRange()?.start.line ?? end.start.line;
  return {
    operator: (lines[start.line] ?? '').slice(
      start.character + 2,
      Math.max(startEnd.character, nameEnd.character),
    ),
    delimiter: heredoc.getName(),
    content: lines
      .slice(from, end.start.line)
      .map((one) => `${one}\n`)
      .join(''),
  };
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
