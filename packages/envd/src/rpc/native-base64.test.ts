import './native-base64.ts';
import { describe, expect, it } from 'vitest';

interface Encodes {
  toBase64(options?: { alphabet?: 'base64' | 'base64url'; omitPadding?: boolean }): string;
}

describe('toBase64', () => {
  // The bytes lie in the middle of a larger buffer, and encode to both letters that the alphabets differ in.
  const bytes = new Uint8Array([1, 0xfb, 0xef, 0xff, 0xfe, 2]).subarray(1, 5) as Uint8Array & Encodes;

  it('encodes with either alphabet, with padding or without', () => {
    expect(bytes.toBase64()).toBe('++///g==');
    expect(bytes.toBase64({ alphabet: 'base64url' })).toBe('--___g==');
    expect(bytes.toBase64({ omitPadding: true })).toBe('++///g');
  });
});
