import { expect, it } from 'vitest';
import type { BuildStep } from '../build-plan.ts';
import { type ChainBase, toKeyChain } from './key-chain.ts';

const base: ChainBase = { image: 'sha256:1', env: { A: '1', B: '2' }, level: 'container', diskMb: 1 };
const steps: BuildStep[] = [
  { type: 'ENV', variables: [['TOKEN', 'a-secret']] },
  { type: 'WORKDIR', path: 'app' },
  { type: 'RUN', command: 'make', user: undefined },
];
const toKeys = (of = steps, changes: Partial<ChainBase> = {}, secret = 's'): string[] =>
  toKeyChain(of, { base: { ...base, ...changes }, secret }).map(({ key }) => key);
/** How many of the first keys are equal. */
const countEqual = (one: string[], other: string[]): number =>
  one.findIndex((key, index) => key !== other[index]);

it('is equal for equal work, whatever the order of the variables of the image', () => {
  expect(toKeys()).toEqual(toKeys(structuredClone(steps), { env: { B: '2', A: '1' } }));
  expect(new Set(toKeys()).size).toBe(4);
  expect(toKeyChain(steps, { base, secret: 's' }).at(-1)?.place).toEqual({
    user: 'user',
    workdir: '/home/user/app',
    env: { ...base.env, TOKEN: 'a-secret' },
  });
});

it('differs from the first changed step on', () => {
  const run = steps[2] as BuildStep;
  expect(
    countEqual(toKeys(), toKeys([{ type: 'ENV', variables: [['TOKEN', 'x']] }, ...steps.slice(1)])),
  ).toBe(1);
  expect(countEqual(toKeys(), toKeys([...steps.slice(0, 2), { ...run, user: 'root' } as BuildStep]))).toBe(3);
  const copy = { type: 'COPY', source: 'a', root: 'a', isPattern: false, destination: '/a' } as const;
  const toCopy = (filesHash: string): BuildStep => ({
    ...copy,
    owner: undefined,
    mode: undefined,
    filesHash,
  });
  expect(countEqual(toKeys([toCopy('1')]), toKeys([toCopy('2')]))).toBe(1);
});

it.each([{ image: 'sha256:2' }, { env: {} }, { level: 'gvisor' }, { diskMb: 2 }])(
  'differs everywhere with the base %j',
  (changes) => expect(countEqual(toKeys(), toKeys(steps, changes))).toBe(0),
);

it('cannot be computed without the secret', () => {
  expect(countEqual(toKeys(), toKeys(steps, {}, 'other'))).toBe(0);
});
