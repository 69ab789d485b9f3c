import { describe, expect, it } from 'vitest';
import type { RunConfig } from '../store/build-rows.ts';
import type { BuildStep } from './build-plan.ts';
import {
  expand,
  ofStep,
  type StepPosition,
  toFirstPosition,
  toNextPosition,
  toRunConfig,
  withFolder,
} from './step-position.ts';

const unnamed = { user: '', workdir: '', env: { A: '1', EMPTY: '' } };
const position: StepPosition = {
  ...toFirstPosition(unnamed, { isDockerfile: false }),
  buildArgs: { A: 'hidden', B: '2' },
};
const DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

describe('expand', () => {
  it.each([
    ['$A $B $C', '1 2 '],
    ['$PATH:/x', `${DEFAULT}:/x`],
    ['$HOME $USER $LOGNAME $E2B_SANDBOX', '/home/user user user true'],
  ])('knows what a command would see: %s', (text, expanded) => {
    for (const isDockerfile of [true, false]) expect(expand(text, position, { isDockerfile })).toBe(expanded);
  });

  it('reads quotes and operators in words of a Dockerfile alone', () => {
    const text = `"\${EMPTY:-$A}" '$A' \\$A`;
    expect(expand(text, position, { isDockerfile: true })).toBe('1 $A $A');
    expect(expand(text, position, { isDockerfile: false })).toBe(`"\${EMPTY:-1}" '1' \\1`);
  });

  it('knows the home of root, and refuses that of an account that only the image knows', () => {
    const of = (user: string) => () => expand('$HOME', { ...position, user }, { isDockerfile: true });
    expect([of('root')(), of('0:0')()]).toEqual(['/root', '/root']);
    expect(of('www-data')).toThrow('$HOME of the user "www-data" is known only inside');
    expect(expand('$HOME', { ...position, user: 'app', env: { HOME: '/app' } }, { isDockerfile: true })).toBe(
      '/app',
    );
  });

  it('names the step whose words are wrong', () => {
    for (const text of [`\${A`, `\${C:?is needed}`, `\${A!}`])
      expect(() => ofStep('7', () => expand(text, position, { isDockerfile: true }))).toThrow(
        expect.objectContaining({ name: 'BuildError', step: '7' }),
      );
  });
});

describe('toNextPosition', () => {
  const toEnv = (isDockerfile: boolean, type: 'ENV' | 'ARG' = 'ENV') => {
    const variables = [
      ['A', 'new'],
      ['D', '$A'],
    ] as const;
    return toNextPosition({ type, variables, isDockerfile }, position);
  };

  it('takes the values of a Dockerfile from before the step, and others from within it', () => {
    expect(toEnv(true).env).toMatchObject({ A: 'new', D: '1' });
    expect(toEnv(false).env).toMatchObject({ A: 'new', D: 'new' });
  });

  it('keeps to the home of the user until a step names a folder, which may be relative in a home that is known', () => {
    const workdir = (path: string): BuildStep => ({ type: 'WORKDIR', path, isDockerfile: false });
    const as = (user: string): StepPosition => ({ ...position, user });
    expect(
      toNextPosition({ type: 'USER', name: 'guest', isCreated: true, isDockerfile: false }, position),
    ).toEqual(as('guest'));
    expect(toNextPosition(workdir('app'), position).workdir).toBe('/home/user/app');
    expect(toNextPosition(workdir('app'), as('0:0')).workdir).toBe('/root/app');
    expect(toNextPosition(workdir('/srv'), as('guest')).workdir).toBe('/srv');
    expect(() => toNextPosition(workdir('app'), as('guest'))).toThrow(
      '"app" is in the home of the user "guest"',
    );
  });

  it('expands users of a Dockerfile, and refuses what is none', () => {
    const user = (name: string): BuildStep => ({ type: 'USER', name, isCreated: false, isDockerfile: true });
    expect(toNextPosition(user('$A:$B'), position).user).toBe('1:2');
    expect(() => toNextPosition(user('$A b'), position)).toThrow('a user must be a name or a number');
  });
});

describe('withFolder', () => {
  const find = async (user: string): Promise<string> => `/of/${user}`;

  it('finds the home of a user that is known only inside, and takes no other folder for one', async () => {
    expect((await withFolder(position, find)).workdir).toBe('/home/user');
    expect((await withFolder({ ...position, user: 'guest' }, find)).workdir).toBe('/of/guest');
    expect((await withFolder({ ...position, user: 'guest', workdir: '/srv' }, find)).workdir).toBe('/srv');
  });
});

describe('toRunConfig', () => {
  const named: RunConfig = { user: 'app', workdir: '/srv', env: { A: 'b' } };
  const user = (isDockerfile: boolean): BuildStep => ({
    type: 'USER',
    name: 'worker',
    isCreated: false,
    isDockerfile,
  });
  const workdir: BuildStep = { type: 'WORKDIR', path: 'in', isDockerfile: false };
  const env: BuildStep = { type: 'ENV', variables: [['C', '$A']], isDockerfile: false };
  const after = (steps: readonly BuildStep[], before = named, isDockerfile = false) => {
    const first = toFirstPosition(before, { isDockerfile });
    return toRunConfig(
      before,
      steps,
      steps.reduce((at, step) => toNextPosition(step, at), first),
    );
  };

  it('is that of the base where no step changes it, and the last value of each otherwise', () => {
    expect(after([])).toEqual(named);
    expect(after([user(false), env])).toEqual({ user: 'worker', workdir: '/srv', env: { A: 'b', C: 'b' } });
    expect(after([workdir, user(false), workdir])).toEqual({
      ...named,
      user: 'worker',
      workdir: '/srv/in/in',
    });
  });

  it('names neither user nor folder where base and steps do not, whatever the steps ran as', () => {
    const none = { user: '', workdir: '', env: {} };
    for (const isDockerfile of [false, true])
      expect(after([env], none, isDockerfile)).toMatchObject({ user: '', workdir: '' });
    expect(after([user(false)], none)).toMatchObject({ user: 'worker', workdir: '' });
    expect(after([workdir], none)).toMatchObject({ user: '', workdir: '/home/user/in' });
  });

  it('has the root folder of Docker with a user that a Dockerfile names', () => {
    expect(after([user(true)], { user: '', workdir: '', env: {} }, true)).toMatchObject({
      user: 'worker',
      workdir: '/',
    });
  });
});
