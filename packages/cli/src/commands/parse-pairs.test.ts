import { expect, it, vi } from 'vitest';
import { parseEnvironment, parseMetadata } from './parse-pairs.ts';

it('splits at the first equals sign and keeps the pairs before', () => {
  expect(parseMetadata('b=c=d', { a: '1' })).toEqual({ a: '1', b: 'c=d' });
  expect(parseEnvironment('B=c=d', { A: '1' })).toEqual({ A: '1', B: 'c=d' });
  expect(parseEnvironment('EMPTY=')).toEqual({ EMPTY: '' });
});

it('takes the value that a variable has here when only its name is given', () => {
  vi.stubEnv('SKERRY_TEST_VARIABLE', 'here');
  expect(parseEnvironment('SKERRY_TEST_VARIABLE')).toEqual({ SKERRY_TEST_VARIABLE: 'here' });
  vi.unstubAllEnvs();
  expect(parseEnvironment('SKERRY_TEST_VARIABLE')).toEqual({});
});

it('refuses a pair without a key, and a variable that no shell could name', () => {
  expect(() => parseMetadata('=x')).toThrow(/key=value/);
  for (const text of ['=x', '1A=x', 'A-B=x', '']) expect(() => parseEnvironment(text)).toThrow(/NAME=value/);
});
