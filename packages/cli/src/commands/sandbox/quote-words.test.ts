import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { quoteWords } from './quote-words.ts';

it('gives a shell exactly the words that were passed', () => {
  const words = ['a b', "it's", '$HOME', '`id`', '', '*', '"', '\\', 'new\nline', 'plain-1.2/x'];
  const printed = execFileSync('sh', ['-c', quoteWords(['printf', '%s\\0', ...words])], { encoding: 'utf8' });
  expect(printed.split('\0').slice(0, -1)).toEqual(words);
});

it('takes a single word as a whole command line', () => {
  expect(quoteWords(['echo $HOME | wc -c'])).toBe('echo $HOME | wc -c');
});
