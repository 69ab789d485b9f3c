import { expect, it } from 'vitest';
import { describeStep, loginShell } from './describe-step.ts';

const toRun = (command: string, shell: readonly string[]) =>
  describeStep({ type: 'RUN', command, user: undefined, shell, mounts: [] });

it('shows a command as it was written for a shell, and all words where another program runs it', () => {
  expect(toRun('echo $A', loginShell)).toBe('RUN echo $A');
  expect(toRun('echo $A', ['/bin/sh', '-c'])).toBe('RUN echo $A');
  expect(toRun('a "b"', ['echo', '$HOME'])).toBe('RUN ["echo", "$HOME", "a \\"b\\""]');
  expect(toRun('false | true', ['/bin/bash', '-euc'])).toBe('RUN ["/bin/bash", "-euc", "false | true"]');
  expect(toRun('tool', [])).toBe('RUN ["tool"]');
});

it('shows the names of variables without their values', () => {
  expect(
    describeStep({
      type: 'ENV',
      isDockerfile: false,
      variables: [
        ['A', 'secret'],
        ['B', '2'],
      ],
    }),
  ).toBe('ENV A B');
});

it('shows the mounts of a command', () => {
  const mounts = [{ type: 'tmpfs' as const, target: '/scratch' }];
  expect(describeStep({ type: 'RUN', command: 'make', user: undefined, shell: loginShell, mounts })).toBe(
    'RUN --mount=type=tmpfs,target=/scratch make',
  );
});
