import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { quoteWords } from './quote-words.ts';

it('passes exactly these words to a shell', () => {
  const words = ['a b', "it's", '$HOME', '`id`', '', '*', '"', '\\', 'new\nline', 'plain-1.2/x'];
  const printed = execFileSync('sh', ['-c', quoteWords(['printf', '%s\\0', ...words])], { encoding: 'utf8' });
  expect(printed.split('\0').slice(0, -1)).toEqual(words);
});

it('uses a single word as the whole command line', () => {
  expect(quoteWords(['echo $HOME | wc -c'])).toBe('echo $HOME | wc -c');
});
