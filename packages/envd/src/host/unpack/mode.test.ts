import { expect, it } from 'vitest';
import { parseMode } from './mode.ts';

it.each([
  ['0755', 0o600, 0o755, 0o755],
  ['+x', 0o644, 0o755, 0o755],
  ['u=rwX,go=rX', 0o600, 0o644, 0o755],
  ['u=rwX,go=rX', 0o711, 0o755, 0o755],
  ['g=u', 0o640, 0o660, 0o660],
  ['o=g,g-r', 0o640, 0o604, 0o604],
  ['a-w', 0o666, 0o444, 0o444],
  ['+w', 0o444, 0o644, 0o644],
  ['u+s,+t', 0o755, 0o5755, 0o5755],
  ['u+r-w', 0o300, 0o500, 0o500],
  ['go=', 0o777, 0o700, 0o700],
])('changes modes by "%s" as chmod(1) does', (text, before, file, folder) => {
  const change = parseMode(text);
  expect([change(before, false), change(before, true)]).toEqual([file, folder]);
});

it.each(['', '8', '10000', 'x', 'u', 'u=z', 'u=rw,', '+x '])('refuses "%s"', (text) => {
  expect(() => parseMode(text)).toThrow('a mode must be octal up to 07777, or symbolic');
});
