import { expect, it } from 'vitest';
import { parseRunWords } from './parse-run-words.ts';

const parse = (...words: string[]) => {
  const argv = ['node', 'skerry', 'run', ...words];
  // The parser drops a mark that no argument precedes.
  return parseRunWords(words[0] === '--' ? words.slice(1) : words, argv);
};

it('takes the word before -- for the template, and all after it for the command', () => {
  expect(parse('--', 'python3', '-c', '1')).toEqual({ words: ['python3', '-c', '1'] });
  expect(parse('python', '--', 'env', '--', '-x')).toEqual({
    template: 'python',
    words: ['env', '--', '-x'],
  });
  expect(parse('python')).toEqual({ template: 'python', words: [] });
  expect(parse('--', 'env', '--', 'true')).toEqual({ words: ['env', '--', 'true'] });
  expect(parse()).toEqual({ words: [] });
});

it('refuses a command without --, and says how it is written', () => {
  expect(() => parse('echo', 'a b')).toThrow("after --: skerry run -- echo 'a b'");
  expect(() => parse('one', 'two', '--', 'true')).toThrow('the command comes after --');
});
