import { expect, it } from 'vitest';
import { isSameSecret } from './auth.ts';

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
