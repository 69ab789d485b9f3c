import { expect, it } from 'vitest';
import { mayBreak, parseChangeset } from './changesets.ts';

const of = (bump: string) => parseChangeset('a.md', `---\n'@skerry/sdk': ${bump}\n---\n\nRemove the tide\n`);

it('reads what a changeset changes and what it says', () => {
  expect(of('minor')).toEqual({ file: 'a.md', bumps: { '@skerry/sdk': 'minor' }, text: 'Remove the tide' });
  expect(() => parseChangeset('b.md', 'Remove the tide')).toThrow('b.md');
});

it.each([
  ['0.3.1', 'patch', false],
  ['0.3.1', 'minor', true],
  ['0.3.1', 'major', true],
  ['1.0.0', 'minor', false],
  ['1.0.0', 'major', true],
])('at %s a %s changeset may announce a breaking change: %s', (version, bump, expected) => {
  expect(mayBreak(of(bump), version)).toBe(expected);
});
