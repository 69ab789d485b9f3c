import { describe, expect, it } from 'vitest';
import { countIncompleteBytes } from './incomplete-character.ts';

describe('the beginning of a character at the end of some bytes', () => {
  it('is found at every place where a text can be cut', () => {
    for (const character of ['a', 'é', '€', '𝄞']) {
      const bytes = Buffer.from(character);
      for (let count = 0; count < bytes.length; count += 1) {
        for (const before of ['', 'x', 'é€𝄞']) {
          const cut = Buffer.concat([Buffer.from(before), bytes.subarray(0, count)]);
          expect(countIncompleteBytes(cut)).toBe(count);
        }
      }
      expect(countIncompleteBytes(bytes)).toBe(0);
    }
  });

  it.each([
    [[0x80]],
    [[0xbf, 0x80]],
    [[0xc0]],
    [[0xc1]],
    [[0xf5]],
    [[0xff]],
    [[0x41, 0x80, 0x80]],
    [[0x80, 0x80, 0x80, 0x80]],
  ])('is not seen in %j, which is no UTF-8', (bytes) => {
    expect(countIncompleteBytes(Uint8Array.from(bytes))).toBe(0);
  });
});
