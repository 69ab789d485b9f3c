import { describe, expect, it } from 'vitest';
import { hashToken, isSameSecret } from './secret.ts';

describe('isSameSecret', () => {
  it('takes a secret for itself alone', () => {
    const secret = 'c0ffee';
    expect(isSameSecret('c0ffee', secret)).toBe(true);
    const others = [
      '',
      'c',
      'c0ffe',
      'c0ffeE',
      'C0ffee',
      'c0ffee ',
      'c0ffeec0ffee',
      'eeffc0',
      '\0\0\0\0\0\0',
      'ţ0ffee',
    ];
    expect(others.filter((given) => isSameSecret(given, secret))).toEqual([]);
  });

  it('reads every character of both, wherever the first difference is', () => {
    const secret = 'c0ffee';
    /** Counts how often the comparison looks at a character. */
    const look = (given: string): number => {
      let looks = 0;
      const watched = (text: string) =>
        ({
          length: text.length,
          charCodeAt: (index: number) => {
            looks += 1;
            return text.charCodeAt(index);
          },
        }) as unknown as string;
      isSameSecret(watched(given), watched(secret));
      return looks;
    };
    for (const given of ['c0ffee', 'x0ffee', 'c0ffex', 'xxxxxx']) expect(look(given)).toBe(12);
    // The time depends on the text from the request, and not on the secret.
    expect([look(''), look('c'), look('c0ffeec0ffee')]).toEqual([0, 2, 24]);
  });
});

describe('hashToken', () => {
  it('is SHA-256 in hex', () => {
    // echo -n token | sha256sum
    expect(hashToken('token')).toBe('3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0');
  });
});
