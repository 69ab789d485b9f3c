import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

/** One fenced block of a page. */
export interface CodeBlock {
  /** Such as `sh`, `ts` or `text`. */
  language: string;
  text: string;
  /** Where it begins, for messages. */
  line: number;
  /** Why no test runs it, which the page says in the line after it. */
  notRun?: string;
}

/** The line after a block that says why no test runs it. */
const notRunLine = /^ *_No test (?:of .+? )?runs this block: (.+)\._$/;

/** The fenced blocks of a page of this repository, in order, without the indentation of a list around them. */
export function readCodeBlocks(page: string): CodeBlock[] {
  return parseCodeBlocks(readFileSync(join(workspaceRoot, page), 'utf8'));
}

/** The fenced blocks of a markdown text. Throws for one that does not end. */
export function parseCodeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: (CodeBlock & { indent: string }) | undefined;
  for (const [at, line] of markdown.split('\n').entries()) {
    const [, indent = '', language = ''] = /^( *)```(\S*)/.exec(line) ?? [];
    const [, reason] = notRunLine.exec(line) ?? [];
    const last = blocks.at(-1);
    if (reason !== undefined && last !== undefined && open === undefined) last.notRun = reason;
    if (!/^ *```/.test(line)) {
      if (open) open.text += `${line.startsWith(open.indent) ? line.slice(open.indent.length) : line}\n`;
    } else if (open) {
      blocks.push({ language: open.language, text: open.text, line: open.line });
      open = undefined;
    } else {
      open = { language, text: '', line: at + 1, indent };
    }
  }
  if (open) throw new Error(`the block of line ${open.line} does not end`);
  return blocks;
}
