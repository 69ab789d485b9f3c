import { expect, it } from 'vitest';
import { chooseIsolation } from './choose-isolation.ts';

const kept = {
  pause: { memory: true, filesystem: true },
  snapshot: { memory: true, filesystem: true },
};
const both = { container: kept, gvisor: kept };
const open = { level: 'container', minimumLevel: 'container', levels: both } as const;
const strict = { level: 'gvisor', minimumLevel: 'gvisor', levels: both } as const;

const refusal = (message: string) =>
  expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(message) });

it('takes the level that was asked for, else the default', () => {
  expect(chooseIsolation(null, { features: open, snapshot: null, build: null })).toBe('container');
  expect(chooseIsolation('gvisor', { features: open, snapshot: null, build: null })).toBe('gvisor');
  expect(chooseIsolation(null, { features: strict, snapshot: null, build: null })).toBe('gvisor');
});

it('refuses a level below the minimum, and one that no host has', () => {
  expect(() => chooseIsolation('container', { features: strict, snapshot: null, build: null })).toThrow(
    refusal('body.isolation: "container" is below "gvisor"'),
  );
  const features = { ...open, levels: { container: kept } };
  expect(() => chooseIsolation('gvisor', { features, snapshot: null, build: null })).toThrow(
    refusal('body.isolation: this server has no level "gvisor", only container'),
  );
});

it.each([
  { asked: null, isolation: 'container', kind: 'memory', level: 'container' },
  { asked: null, isolation: 'gvisor', kind: 'memory', level: 'gvisor' },
  { asked: 'gvisor', isolation: 'container', kind: 'filesystem', level: 'gvisor' },
  { asked: 'container', isolation: 'gvisor', kind: 'filesystem', level: 'gvisor' },
  { asked: 'gvisor', isolation: 'gvisor', kind: 'memory', level: 'gvisor' },
] as const)('never starts below the level of a snapshot: %o', ({ asked, isolation, kind, level }) => {
  expect(chooseIsolation(asked, { features: open, snapshot: { isolation, kind }, build: null })).toBe(level);
});

it('refuses another level than that of the processes in a snapshot', () => {
  for (const [asked, isolation] of [
    ['gvisor', 'container'],
    ['container', 'gvisor'],
  ] as const)
    expect(() =>
      chooseIsolation(asked, { features: open, snapshot: { isolation, kind: 'memory' }, build: null }),
    ).toThrow(refusal(`continue at its level alone, "${isolation}"`));
});

it('starts no sandbox below the level that its template demands', () => {
  const origin = { features: open, snapshot: null, build: { isolation: 'gvisor' } } as const;
  expect(chooseIsolation(null, origin)).toBe('gvisor');
  expect(chooseIsolation('gvisor', origin)).toBe('gvisor');
  expect(() => chooseIsolation('container', origin)).toThrow(
    refusal('body.isolation: "container" is below "gvisor", which the template demands'),
  );
  const weak = { ...origin, build: { isolation: 'container' } } as const;
  expect(chooseIsolation(null, { ...weak, features: strict })).toBe('gvisor');
  expect(chooseIsolation('gvisor', weak)).toBe('gvisor');
  const features = { ...open, levels: { container: kept } };
  expect(() => chooseIsolation(null, { ...origin, features })).toThrow(
    expect.objectContaining({
      code: 'unimplemented',
      message: 'the template demands level "gvisor", which this server does not have',
    }),
  );
});
