import { expect, it } from 'vitest';
import type { Runtime } from '../../runtime.ts';
import { createLevelOpening } from './level-opening.ts';
import type { LevelPrograms, OpenedLevel, TryLevel } from './opened-levels.ts';

/** An opening of `gvisor` whose programs are `tried`, then `found`. */
const openGvisor = (tryLevel: TryLevel, [tried, found]: [LevelPrograms, LevelPrograms]) => {
  const opened: { gvisor?: OpenedLevel } = {};
  const openWith = (_: string, programs: LevelPrograms) => programs as unknown as OpenedLevel;
  const gvisor = {
    keepsMemory: true,
    open: async (tryPrograms: (tried: LevelPrograms, use: () => Promise<void>) => Promise<void>) => {
      await tryPrograms(tried, async () => {});
      return found;
    },
  };
  return { opened, openLevel: createLevelOpening({ levels: { gvisor }, opened, openWith, tryLevel }) };
};

it('a level is open when its programs have been tried, with what the trial has left of them', async () => {
  const trial = Promise.withResolvers<void>();
  const seen: OpenedLevel[] = [];
  const tryLevel: TryLevel = async (_, candidate, use) => {
    seen.push(candidate);
    await trial.promise;
    return use({} as Runtime);
  };
  const programs: [LevelPrograms, LevelPrograms] = [{ keepsMemory: true }, { keepsMemory: false }];
  const { opened, openLevel } = openGvisor(tryLevel, programs);
  const isOpen = async () => {
    await openLevel('gvisor');
    return true;
  };
  const callers = [isOpen(), isOpen()];
  await expect.poll(() => seen).toEqual([programs[0]]);
  expect(await Promise.race([...callers, Promise.resolve(false)])).toBe(false);
  expect(opened).toEqual({});
  trial.resolve();
  expect(await Promise.all(callers)).toEqual([true, true]);
  expect(opened).toEqual({ gvisor: programs[1] });
  expect(seen).toHaveLength(1);
});
