import { expect, it } from 'vitest';
import { toInvocation } from './invocation.ts';

it('names the form in which the program was called', () => {
  const bin = '/usr/local/bin/skerry';
  expect(toInvocation(['node', bin], { PATH: '/usr/bin:/usr/local/bin' })).toEqual({ command: 'skerry' });
  expect(toInvocation(['node', bin], { PATH: '/usr/bin' })).toEqual({ command: bin });
  expect(toInvocation(['node', '/x/.bin/skerry'], { PATH: '/x/.bin', npm_command: 'exec' })).toEqual({
    command: 'npx skerry',
  });
  expect(toInvocation(['node', '/a b/src/main.ts'], { PATH: '/usr/bin' })).toEqual({
    command: "node '/a b/src/main.ts'",
  });
  expect(toInvocation(['node', '/clone/src/main.ts'], { SKERRY_CHECKOUT: '/clone' })).toEqual({
    command: 'npm run -s skerry --',
    folder: '/clone',
  });
  expect(toInvocation(['node', bin], { PATH: '/usr/local/bin', SUDO_USER: 'me' })).toEqual({
    command: 'skerry',
    bySudo: true,
  });
});
