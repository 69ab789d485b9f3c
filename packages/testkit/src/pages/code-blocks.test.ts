import { expect, it } from 'vitest';
import { parseCodeBlocks } from './code-blocks.ts';

it('finds each block with its language and line, without the indentation of a list', () => {
  const page = [
    '# A',
    '```sh',
    'one',
    '```',
    '1. B',
    '',
    '   ```ts',
    '   if (x) {',
    '     two',
    '   }',
    '   ```',
    '',
  ];
  expect(parseCodeBlocks(page.join('\n'))).toEqual([
    { language: 'sh', text: 'one\n', line: 2 },
    { language: 'ts', text: 'if (x) {\n  two\n}\n', line: 7 },
  ]);
});

it('refuses a block that does not end', () => {
  expect(() => parseCodeBlocks('```sh\none\n')).toThrow('the block of line 1 does not end');
});
