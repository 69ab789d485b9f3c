import { expect, it } from 'vitest';
import { complete } from './find-reference.ts';

const toAll = (...ids: string[]) => ids.map((id) => ({ id, names: [] }));
const all = toAll('iabc1', 'iabd2', 'ixyz3');

it('finds the only id that begins so, and leaves what none begins with', () => {
  expect(complete('iabc', all)).toBe('iabc1');
  expect(complete('ixy', all)).toBe('ixyz3');
  expect(complete('none', all)).toBe('none');
});

it('takes no beginning that all ids have, and refuses one that several have', () => {
  expect(complete('i', toAll('ixyz3'))).toBe('i');
  expect(() => complete('iab', all)).toThrow('iab is the beginning of 2 ids: iabc1, iabd2');
  const many = toAll(...Array.from({ length: 7 }, (_, at) => `iabc${at}`));
  expect(() => complete('iabc', many)).toThrow(/of 7 ids: (iabc\d, ){5}…$/);
});

it('keeps the tag behind the beginning, which tells the snapshots of a name apart', () => {
  expect(complete('abc:v1', toAll('abcdef'))).toBe('abcdef:v1');
  const tagged = toAll('local/prepared:v1', 'local/prepared:v2');
  expect(complete('local/pre:v2', tagged)).toBe('local/prepared:v2');
  expect(complete('local/pre:v3', tagged)).toBe('local/pre:v3');
  expect(() => complete('local/pre', tagged)).toThrow('local/prepared:v1, local/prepared:v2');
});

it.each(['abc', 'abc:v1', 'team/abc', 'team/abc:v1'])(
  'leaves the name %s, with which an id begins',
  (text) => {
    expect(complete(text, [...toAll('abcdef'), { id: 'xyz', names: ['team/abc:default'] }])).toBe(text);
  },
);
