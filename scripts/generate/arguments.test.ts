import { expect, it } from 'vitest';
import { parseGenerateArguments } from './arguments.ts';

it('reads the source, the folder and the extension, which is js unless given', () => {
  const argv = ['generate', '--spec', 'my.yaml', '--out', 'src/gen'];
  expect(parseGenerateArguments(argv, 'spec')).toEqual({
    source: 'my.yaml',
    out: 'src/gen',
    importExtension: 'js',
  });
  expect(parseGenerateArguments([...argv, '--import-extension', 'ts'], 'spec').importExtension).toBe('ts');
});

it.each([
  [[], /command/],
  [['generate', 'more'], /command/],
  [['generate', '--out', 'gen'], /--proto is missing/],
  [['generate', '--proto', 'protos'], /--out is missing/],
  [['generate', '--proto', 'p', '--out', 'gen', '--import-extension', 'mjs'], /must be js or ts/],
  [['generate', '--spec', 'my.yaml', '--out', 'gen'], /--spec/],
])('refuses %j', (argv, problem) => {
  expect(() => parseGenerateArguments(argv, 'proto')).toThrow(problem);
});
