import { describe, expect, it } from 'vitest';
import { actAsOwner, actsAsOwner } from './act-as-owner.ts';

const around = (text: string): Buffer => Buffer.from(`before${text}after`);

describe('actAsOwner', () => {
  it('replaces the only name by which the program looks up its user', () => {
    const program = around('\0geteuid\0');
    const changed = actAsOwner(program);
    expect(changed).toEqual(around('\0getegid\0'));
    expect([program, changed as Buffer].map(actsAsOwner)).toEqual([false, true]);
  });

  it('changes no program that contains the name twice or not at all', () => {
    for (const program of [around(''), around('\0geteuid\0geteuid\0')]) {
      expect(actAsOwner(program)).toBeUndefined();
      expect(actsAsOwner(program)).toBe(false);
    }
  });
});
