import { describe, expect, it } from 'vitest';
import { parseCopyStep } from './copy-step.ts';

const filesHash = 'a'.repeat(64);
const parse = (...args: string[]) => parseCopyStep({ args, filesHash }, 'body.steps[0]');

describe('parseCopyStep', () => {
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
        code: 'invalid_argument',
        message: expect.stringMatching(new RegExp(`^body\\.steps\\[0\\]\\.args.*${message}`)),
      }),
    );
  });

  it.each([undefined, 'abc', 'A'.repeat(64)])('refuses the hash %s', (hash) => {
    expect(() => parseCopyStep({ args: ['a', 'b'], filesHash: hash }, 'body.steps[0]')).toThrow(
      /^body\.steps\[0\]\.filesHash/,
    );
  });

  it('copies from an earlier stage, in place of uploaded files', () => {
    const from = (fromStage: number, more: object = {}) =>
      parseCopyStep({ args: ['/a', 'b'], fromStage, ...more }, 'body.steps[0]', 2);
    expect(from(1, { dockerfile: true })).toMatchObject({
      source: '/a',
      from: { kind: 'stage', index: 1 },
      keepsOwners: true,
      overwritesFolders: true,
    });
    expect(() => from(2)).toThrow('body.steps[0].fromStage: there is no stage 2 before');
    expect(() => from(0, { filesHash })).toThrow('body.steps[0].filesHash does not go with fromStage');
  });
});
