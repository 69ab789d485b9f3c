import { describe, expect, it } from 'vitest';
import { inheritStart } from './inherit-start.ts';

const place = { user: 'worker', workdir: '/srv', env: { A: 'b' } };
const inherited = { startCmd: 'serve', readyCmd: 'check', user: 'user', workdir: '/home/user', env: {} };
const inherit = (own: { startCmd?: string; readyCmd?: string }, from: typeof inherited | null = inherited) =>
  inheritStart(
    { startCmd: undefined, readyCmd: undefined, ...own },
    {
      place: { ...place, buildArgs: { SECRET: 's' } },
      inherited: from,
    },
  );

describe('inheritStart', () => {
  it('keeps the commands of the base where they run', () => {
    expect(inherit({})).toEqual(inherited);
    expect(inherit({}, null)).toBeNull();
  });

  it('replaces both by a start command of its own', () => {
    expect(inherit({ startCmd: 'own' })).toEqual({ startCmd: 'own', readyCmd: null, ...place });
    expect(inherit({ startCmd: 'own', readyCmd: 'ready' })).toEqual({
      startCmd: 'own',
      readyCmd: 'ready',
      ...place,
    });
  });

  it('replaces only the check by a check of its own', () => {
    expect(inherit({ readyCmd: 'ready' })).toEqual({ ...inherited, readyCmd: 'ready' });
    expect(inherit({ readyCmd: 'ready' }, null)).toEqual({ startCmd: null, readyCmd: 'ready', ...place });
  });
});
