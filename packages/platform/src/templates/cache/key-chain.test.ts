import { expect, it } from 'vitest';
import { emptyRunConfig } from '../../store/build-rows.ts';
import type { BuildStep, CopyStep } from '../build-plan.ts';
import { type StepPosition, toFirstPosition } from '../step-position.ts';
import { type ChainBase, toKeyChain } from './key-chain.ts';

const begin = (env: Record<string, string>, config = {}): StepPosition =>
  toFirstPosition({ ...emptyRunConfig, ...config, env }, { isDockerfile: false });
const position = begin({ A: '1', B: '2' });
const base: ChainBase = { image: 'sha256:1', position, level: 'container', diskMb: 1 };
const noStages = new Map<number, { identity: string }>();
const steps: BuildStep[] = [
  { type: 'ENV', variables: [['TOKEN', 'a-secret']], isDockerfile: false },
  { type: 'WORKDIR', path: 'app', isDockerfile: false },
  { type: 'RUN', command: 'make', user: undefined, shell: ['/bin/sh', '-c'], mounts: [] },
];
const toKeys = (of = steps, changes: Partial<ChainBase> = {}, secret = 's', stages = noStages): string[] =>
  toKeyChain(of, { base: { ...base, ...changes }, stages, stepsBefore: 0, secret }).map(({ key }) => key);
const toCopyStep = (from: CopyStep['from']): CopyStep => ({
  ...{ type: 'COPY', source: 'a', destination: '/a', owner: undefined, mode: undefined },
  ...{ from, isDockerfile: false, keepsOwners: false, overwritesFolders: false },
});
/** How many of the first keys are equal. */
const countEqual = (one: string[], other: string[]): number =>
  one.findIndex((key, index) => key !== other[index]);

it('is equal for equal work, whatever the order of the variables of the image', () => {
  expect(toKeys()).toEqual(toKeys(structuredClone(steps), { position: begin({ B: '2', A: '1' }) }));
  expect(new Set(toKeys()).size).toBe(4);
  expect(toKeyChain(steps, { base, stages: noStages, stepsBefore: 0, secret: 's' }).at(-1)?.position).toEqual(
    {
      user: 'user',
      workdir: '/home/user/app',
      env: { ...position.env, TOKEN: 'a-secret' },
      buildArgs: {},
    },
  );
});

it('covers user and folder from the first step on, and not before it', () => {
  for (const config of [{ user: 'root' }, { workdir: '/srv' }])
    expect(countEqual(toKeys(), toKeys(steps, { position: begin({ A: '1', B: '2' }, config) }))).toBe(1);
});

it('differs from the first changed step on', () => {
  const run = steps[2] as BuildStep;
  expect(
    countEqual(
      toKeys(),
      toKeys([{ ...(steps[0] as BuildStep), variables: [['TOKEN', 'x']] } as BuildStep, ...steps.slice(1)]),
    ),
  ).toBe(1);
  expect(countEqual(toKeys(), toKeys([...steps.slice(0, 2), { ...run, user: 'root' } as BuildStep]))).toBe(3);
  expect(countEqual(toKeys(), toKeys([...steps.slice(0, 2), { ...run, shell: ['x'] } as BuildStep]))).toBe(3);
  const toCopy = (filesHash: string) =>
    toCopyStep({ kind: 'upload', root: 'a', isPattern: false, filesHash });
  expect(countEqual(toKeys([toCopy('1')]), toKeys([toCopy('2')]))).toBe(1);
});

it('covers the image of a stage that a step copies from, and not its number', () => {
  const toStageKeys = (index: number, identity: string): string[] =>
    toKeys([toCopyStep({ kind: 'stage', index })], {}, 's', new Map([[index, { identity }]]));
  expect(toStageKeys(0, 'sha256:2')).toEqual(toStageKeys(1, 'sha256:2'));
  expect(countEqual(toStageKeys(0, 'sha256:2'), toStageKeys(0, 'sha256:3'))).toBe(1);
});

it.each([{ image: 'sha256:2' }, { position: begin({}) }, { level: 'gvisor' }, { diskMb: 2 }])(
  'differs everywhere with the base %j',
  (changes) => expect(countEqual(toKeys(), toKeys(steps, changes))).toBe(0),
);

it('cannot be computed without the secret', () => {
  expect(countEqual(toKeys(), toKeys(steps, {}, 'other'))).toBe(0);
});

it('names the step whose variables become too long', () => {
  const of = { type: 'ENV' as const, isDockerfile: false };
  const double = { ...of, variables: [['A', '$A$A']] as [string, string][] };
  const first = { ...of, variables: [['A', 'x'.repeat(1024)]] as [string, string][] };
  const chain = (count: number) => {
    const doubled = [first, ...Array.from({ length: count }, () => double)];
    return () => toKeyChain(doubled, { base, stages: noStages, stepsBefore: 3, secret: 's' });
  };
  expect(chain(6)).not.toThrow();
  expect(chain(8)).toThrow(expect.objectContaining({ name: 'BuildError', step: '11' }));
});
