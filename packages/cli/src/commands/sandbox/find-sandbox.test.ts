import { expect, it } from 'vitest';
import { complete } from './find-sandbox.ts';

const ids = ['iabc1', 'iabd2', 'ixyz3'];

it('finds the only id that begins so, and leaves what none begins with', () => {
  expect(complete('iabc', ids)).toBe('iabc1');
  expect(complete('ixy', ids)).toBe('ixyz3');
  expect(complete('none', ids)).toBe('none');
});

it('takes no beginning that all ids have, and refuses one that several have', () => {
  expect(complete('i', ['ixyz3'])).toBe('i');
  expect(() => complete('iab', ids)).toThrow('iab is the beginning of 2 ids: iabc1, iabd2');
  const many = Array.from({ length: 7 }, (_, at) => `iabc${at}`);
  expect(() => complete('iabc', many)).toThrow(/of 7 ids: (iabc\d, ){5}…$/);
});
