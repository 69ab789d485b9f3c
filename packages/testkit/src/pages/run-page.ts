import type { CodeBlock } from './code-blocks.ts';
import type { Reader } from './reader.ts';

/** The blocks of one language of a page, which are one program: each continues the one before it. */
export interface PageProgram {
  language: 'sh' | 'ts';
  blocks: CodeBlock[];
  /** What each of them prints: the block of language `text` right after it; undefined where there is none. */
  expected: (string | undefined)[];
}

/** What the source of a program prints after each block, alone on a line. */
export const endOfBlock = '<<end of block>>';

/** Drawings, files and changes, which are no programs. */
const others = ['', 'diff', 'dockerfile', 'ini', 'nginx'];

/** The words after `skerry up` of a block that starts a server; undefined for any other. */
export function toServerOptions({ language, text, notRun }: CodeBlock): string[] | undefined {
  const [, words] = /^skerry up (.*)$/.exec(text.trim().replaceAll(/\s*\\\n\s*/g, ' ')) ?? [];
  return language === 'sh' && notRun === undefined ? words?.replaceAll("'", '').split(' ') : undefined;
}

/**
 * The programs of a page, the one of its first block first, without the blocks that the page says no test runs and those that
 * start a server. Throws for a language that is not known and for a stray text.
 */
export function toPrograms(given: readonly CodeBlock[]): PageProgram[] {
  const blocks = given.filter((block) => block.notRun === undefined && toServerOptions(block) === undefined);
  const programs: PageProgram[] = [];
  for (const [at, block] of blocks.entries()) {
    const { language, line, text } = block;
    if (language === 'sh' || language === 'ts') {
      const known = programs.find((candidate) => candidate.language === language);
      const program: PageProgram = known ?? { language, blocks: [], expected: [] };
      if (known === undefined) programs.push(program);
      program.blocks.push(block);
      program.expected.push(undefined);
    } else if (language === 'text') {
      const before = programs.find((candidate) => candidate.language === blocks[at - 1]?.language);
      if (before === undefined) throw new Error(`the text of line ${line} is not the output of a program`);
      before.expected[before.expected.length - 1] = text;
    } else if (!others.includes(language)) {
      throw new Error(`the block of line ${line} is not run: its language is "${language}"`);
    }
  }
  return programs;
}

/** The source of a program, which prints a line after each block. */
export function toSource({ language, blocks }: PageProgram): string {
  const mark = language === 'sh' ? `echo '${endOfBlock}'` : `console.log('${endOfBlock}');`;
  const head = language === 'sh' ? 'set -euo pipefail\n' : '';
  return `${head}${blocks.map(({ text }) => `${text}${mark}\n`).join('')}`;
}

/** Runs a program of a page and resolves with what each block printed. Rejects when it fails. */
export async function runPageProgram(reader: Reader, program: PageProgram, file: string): Promise<string[]> {
  const printed = await reader.run(program.language === 'sh' ? 'bash' : process.execPath, [file]);
  return printed.split(`${endOfBlock}\n`).slice(0, -1);
}
