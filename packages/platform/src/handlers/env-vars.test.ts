import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseEnvVars } from './env-vars.ts';

const parse = (variables: Record<string, string>) => parseEnvVars('body.envVars', variables);

describe('parseEnvVars', () => {
  it('accepts variables that a process can be started with, up to the limits', () => {
    const longest = 'x'.repeat(131_071 - 'LONG'.length - 2);
    const variables = { A: '', 'with space': 'a\nb=c', ключ: 'значение', LONG: longest };
    expect(parse(variables)).toBe(variables);
    expect(spawnSync('/bin/true', { env: variables }).status).toBe(0);
  });

  const refused: [string, Record<string, string>, RegExp][] = [
    ['an empty name', { '': 'x' }, /the name ""/],
    ['a name with "="', { 'A=B': 'x' }, /the name "A=B"/],
    ['a name with NUL', { 'A\0': 'x' }, /the name "A\\u0000"/],
    ['a value with NUL', { A: 'secret\0' }, /body\.envVars\.A must not contain NUL/],
    ['one that is too long', { A: 'x'.repeat(131_072) }, /body\.envVars\.A must be at most 131071 bytes/],
    [
      'too many bytes in total',
      Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`V${i}`, 'x'.repeat(130_000)])),
      /body\.envVars must be at most 1048576 bytes/,
    ],
  ];
  for (const [what, variables, message] of refused) {
    it(`refuses ${what} without showing the value`, () => {
      expect(() => parse(variables)).toThrow(message);
      expect(() => parse(variables)).not.toThrow(/secret|xxx/);
    });
  }
});
