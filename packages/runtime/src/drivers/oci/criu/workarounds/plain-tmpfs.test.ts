import { describe, expect, it } from 'vitest';
import { withPlainTmpfs } from './plain-tmpfs.ts';

const around = (text: string): Buffer => Buffer.from(`before${text}after`);

describe('withPlainTmpfs', () => {
  it('replaces the argument of tar by one of the same length', () => {
    expect(withPlainTmpfs(around('\0--gzip\0'))).toEqual(around('\0--seek\0'));
  });

  it('changes no program that contains the argument twice or not at all', () => {
    for (const program of [around(''), around('--gzip'), around('\0--gzip\0--gzip\0')])
      expect(withPlainTmpfs(program)).toBeUndefined();
  });
});
