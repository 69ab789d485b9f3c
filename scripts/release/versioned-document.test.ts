import { expect, it } from 'vitest';
import { toVersioned } from './versioned-document.ts';

it('changes the version of the document and nothing else', () => {
  const before = 'openapi: 3.1.1\ninfo:\n  title: skerry\n  version: 0.1.0\npaths:\n  version: 7\n';
  expect(toVersioned(before, '0.2.0')).toBe(before.replace('0.1.0', '0.2.0'));
  expect(() => toVersioned('openapi: 3.1.1\n', '0.2.0')).toThrow('no version');
});
