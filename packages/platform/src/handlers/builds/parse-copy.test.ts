import { describe, expect, it } from 'vitest';
import { problemsAt } from './build-problem.ts';
import { parseCopy } from './parse-copy.ts';

const problem = problemsAt({ step: 0 });
const filesHash = 'a'.repeat(64);
const parse = (...args: string[]) => parseCopy({ args, filesHash }, problem);

describe('parseCopy', () => {
  it.each([
    ['.', '', false],
    ['./app/', 'app', false],
    ['app/../lib', 'lib', false],
    ['app/*.txt', 'app', true],
    ['**/*.py', '', true],
    ['app/{a,b}/c', 'app', true],
    ['app/{a}', 'app/{a}', false],
    ['app/[ab].ts', 'app', true],
    ['app/\\[id\\].ts', 'app/[id].ts', false],
    ['app/!(a)', 'app', true],
    ['file?', '', true],
    ['..name', '..name', false],
  ])('counts names from the source %s without its pattern', (source, root, isPattern) => {
    expect(parse(source, '/to')).toMatchObject({ source, from: { root, isPattern } });
  });

  it('reads owner and mode, which may be empty', () => {
    expect(parse('a', 'b', '', '')).toMatchObject({ owner: undefined, mode: undefined, from: { filesHash } });
    expect(parse('a', 'b', 'user:2001', '0755')).toMatchObject({ owner: 'user:2001', mode: '0755' });
  });

  it.each([
    [['a'], 'source, a destination'],
    [['a', 'b', '', '', 'c'], 'source, a destination'],
    [['/etc', 'b'], 'relative'],
    [['a/../..', 'b'], 'relative'],
    [['a', 'b', 'x y'], 'owner'],
    [['a', 'b', 'a:b:c'], 'owner'],
    [['a', 'b', '', '0o755'], 'octal'],
    [['a', 'b', '', '0999'], 'octal'],
    [['a'.repeat(5_000), 'b'], 'bytes'],
  ])('refuses %j, naming the field', (args, message) => {
    expect(() => parse(...args)).toThrow(
      expect.objectContaining({
        ...{ field: 'args', stage: undefined, step: 0 },
        message: expect.stringContaining(message),
      }),
    );
  });

  it.each([undefined, 'abc', 'A'.repeat(64)])('refuses the hash %s', (hash) => {
    expect(() => parseCopy({ args: ['a', 'b'], filesHash: hash }, problem)).toThrow(
      expect.objectContaining({ field: 'filesHash' }),
    );
  });

  it('copies from an earlier stage, in place of uploaded files', () => {
    const from = (fromStage: number, more: object = {}) =>
      parseCopy({ args: ['/a', 'b'], fromStage, ...more }, problem, 2);
    expect(from(1, { dockerfile: true })).toMatchObject({
      source: '/a',
      from: { kind: 'stage', index: 1 },
      keepsOwners: true,
      overwritesFolders: true,
    });
    expect(() => from(2)).toThrow('must be the number of an earlier stage, got 2');
    expect(() => from(0, { filesHash })).toThrow(
      expect.objectContaining({ field: 'filesHash', message: 'does not go with fromStage' }),
    );
  });
});
