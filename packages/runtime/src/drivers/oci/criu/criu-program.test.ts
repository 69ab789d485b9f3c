import { describe, expect, it } from 'vitest';
import { standForRoot, withoutGzip, withoutTracked } from './criu-program.ts';

const around = (bytes: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from('before'), Buffer.from(bytes), Buffer.from('after')]);

describe('withoutTracked', () => {
  // movabs, of a message of 20 bytes, type and flags.
  const asksForAll = Buffer.from('48b81400000001010103', 'hex');
  const asksForNone = Buffer.from('48b81400000007010103', 'hex');

  it('asks for connections that nobody has in place of all that are tracked', () => {
    const program = around(asksForAll);
    expect(withoutTracked(program)).toEqual(around(asksForNone));
    expect(program).toEqual(around(asksForAll));
  });

  it('leaves a program alone that asks for none, in another way, or more than once', () => {
    const twice = Buffer.concat([asksForAll, asksForAll]);
    for (const program of [around(asksForNone), around(''), twice])
      expect(withoutTracked(program)).toBeUndefined();
  });
});

describe('withoutGzip', () => {
  it('tells tar something else in as many letters', () => {
    expect(withoutGzip(around('\0--gzip\0'))).toEqual(around('\0--seek\0'));
  });

  it('leaves a program alone that does not say so, or says it more than once', () => {
    for (const program of [around(''), around('--gzip'), around('\0--gzip\0--gzip\0')])
      expect(withoutGzip(program)).toBeUndefined();
  });
});

describe('standForRoot', () => {
  it('replaces the only name by which the program asks who it is', () => {
    expect(standForRoot(around('\0geteuid\0'))).toEqual(around('\0getegid\0'));
  });

  it('refuses a program that has the name twice or not at all', () => {
    for (const program of [around(''), around('\0geteuid\0geteuid\0')])
      expect(() => standForRoot(program)).toThrow('does not ask who it is');
  });
});
