import { describe, expect, it } from 'vitest';
import type { BuildStep } from './build-plan.ts';
import { expand, ofStep, type Place, toFirstPlace, toNextPlace } from './step-place.ts';

const place: Place = { ...toFirstPlace({ A: '1', EMPTY: '' }), buildArgs: { A: 'hidden', B: '2' } };
const DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

describe('expand', () => {
  it.each([
    ['$A $B $C', '1 2 '],
    ['$PATH:/x', `${DEFAULT}:/x`],
    ['$HOME $USER $LOGNAME $E2B_SANDBOX', '/home/user user user true'],
  ])('knows what a command would see: %s', (text, expanded) => {
    for (const isDockerfile of [true, false]) expect(expand(text, place, { isDockerfile })).toBe(expanded);
  });

  it('reads quotes and operators in words of a Dockerfile alone', () => {
    const text = `"\${EMPTY:-$A}" '$A' \\$A`;
    expect(expand(text, place, { isDockerfile: true })).toBe('1 $A $A');
    expect(expand(text, place, { isDockerfile: false })).toBe(`"\${EMPTY:-1}" '1' \\1`);
  });

  it('knows the home of root, and refuses that of an account that only the image knows', () => {
    const of = (user: string) => () => expand('$HOME', { ...place, user }, { isDockerfile: true });
    expect([of('root')(), of('0:0')()]).toEqual(['/root', '/root']);
    expect(of('www-data')).toThrow('$HOME of the user "www-data" is known only inside');
    expect(expand('$HOME', { ...place, user: 'app', env: { HOME: '/app' } }, { isDockerfile: true })).toBe(
      '/app',
    );
  });

  it('names the step whose words are wrong', () => {
    for (const text of [`\${A`, `\${C:?is needed}`, `\${A!}`])
      expect(() => ofStep('7', () => expand(text, place, { isDockerfile: true }))).toThrow(
        expect.objectContaining({ name: 'BuildError', step: '7' }),
      );
  });
});

describe('toNextPlace', () => {
  const toEnv = (isDockerfile: boolean, type: 'ENV' | 'ARG' = 'ENV') => {
    const variables = [
      ['A', 'new'],
      ['D', '$A'],
    ] as const;
    return toNextPlace({ type, variables, isDockerfile }, place);
  };

  it('takes the values of a Dockerfile from before the step, and others from within it', () => {
    expect(toEnv(true).env).toMatchObject({ A: 'new', D: '1' });
    expect(toEnv(false).env).toMatchObject({ A: 'new', D: 'new' });
  });

  it('expands users of a Dockerfile, and refuses what is none', () => {
    const user = (name: string): BuildStep => ({ type: 'USER', name, isCreated: false, isDockerfile: true });
    expect(toNextPlace(user('$A:$B'), place).user).toBe('1:2');
    expect(() => toNextPlace(user('$A b'), place)).toThrow('a user must be a name or a number');
  });
});
