import { expect, it } from 'vitest';
import { parseCodeBlocks } from './code-blocks.ts';
import { toPrograms, toServerOptions, toSource } from './run-page.ts';

const toPage = (...blocks: [language: string, text: string][]) =>
  parseCodeBlocks(blocks.map(([language, text]) => `\`\`\`${language}\n${text}\n\`\`\`\n`).join('\n'));

it('joins the blocks of a language to one program and knows what each prints', () => {
  const [first, second] = toPrograms(
    toPage(['ts', 'const a = 1;'], ['sh', 'ls'], ['text', 'file'], ['ts', 'console.log(a);'], ['text', '1']),
  );
  expect(first).toMatchObject({ language: 'ts', expected: [undefined, '1\n'] });
  expect(second).toMatchObject({ language: 'sh', expected: ['file\n'] });
  expect(first && toSource(first)).toMatch(/^const a = 1;\nconsole\.log\(.*\);\nconsole\.log\(a\);\n/);
});

it('leaves out blocks that the page says no test runs, and those that start a server', () => {
  const reason = '_No test of `npm test` runs this block: it needs Docker._\n';
  const [marked] = parseCodeBlocks(`\`\`\`sh\ndocker ps\n\`\`\`\n\n${reason}`);
  expect(marked?.notRun).toBe('it needs Docker');
  const [server] = toPage(['sh', "skerry up --image-map 'a/*=b/*' \\\n  --registry c"]);
  expect(server && toServerOptions(server)).toEqual(['--image-map', 'a/*=b/*', '--registry', 'c']);
  expect(toPrograms([marked, server].filter((block) => block !== undefined))).toEqual([]);
});

it('refuses a block that would not run', () => {
  expect(() => toPrograms(toPage(['text', 'alone']))).toThrow('the text of line 1 is not the output');
  expect(() => toPrograms(toPage(['python', 'print(1)']))).toThrow('the block of line 1 is not run');
});
