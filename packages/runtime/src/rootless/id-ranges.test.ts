import { describe, expect, it } from 'vitest';
import { findIdRange, toFreeRange } from './id-ranges.ts';

const user = { name: 'ada', uid: 1001 };

describe('findIdRange', () => {
  it('finds the range of a user by name or number', () => {
    expect(findIdRange('root:1:65536\nada:165536:65536\n', user)).toBe(165_536);
    expect(findIdRange('1001:300000:131072', user)).toBe(300_000);
  });

  it('skips a range that is too small', () => {
    expect(findIdRange('ada:100:1000\nada:200000:65536\n', user)).toBe(200_000);
    expect(findIdRange('ada:100:65535\n', user)).toBeUndefined();
  });

  it('finds nothing for others, in an empty file, or in a broken line', () => {
    expect(findIdRange('adam:100000:65536\n10011:100000:65536', user)).toBeUndefined();
    expect(findIdRange('', user)).toBeUndefined();
    expect(findIdRange('ada\nada:1\n', user)).toBeUndefined();
  });
});

describe('toFreeRange', () => {
  it('is behind all assigned ranges', () => {
    expect(toFreeRange('ada:165536:65536\nroot:100000:65536\n\nbroken\n')).toBe(231_072);
    expect(toFreeRange('')).toBe(100_000);
  });
});
