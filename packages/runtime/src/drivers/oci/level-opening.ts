import type { IsolationLevel } from '@skerry/contract/isolation';
import { isRuntimeError, RuntimeError } from '../../error.ts';
import type { LaterLevel, LevelPrograms, OpenedLevel, TryLevel } from './opened-levels.ts';

export type LaterLevels = Readonly<Partial<Record<IsolationLevel, LaterLevel>>>;

/**
 * Returns the function that opens a later level at its first use; concurrent callers share one opening. The level is added to
 * `opened` when its programs have been tried, so that no other caller uses what is not proved.
 */
export const createLevelOpening = ({
  levels,
  opened,
  openWith,
  tryLevel,
}: {
  levels: LaterLevels;
  opened: Partial<Record<IsolationLevel, OpenedLevel>>;
  openWith: (level: IsolationLevel, programs: LevelPrograms) => OpenedLevel | undefined;
  tryLevel: TryLevel;
}): ((level: IsolationLevel) => Promise<void>) => {
  const running = new Map<IsolationLevel, Promise<void>>();

  const requireLevel = (level: IsolationLevel, programs: LevelPrograms): OpenedLevel => {
    const found = openWith(level, programs);
    if (found === undefined) throw new RuntimeError('unsupported', 'no program starts its sandboxes');
    return found;
  };

  const open = async (level: IsolationLevel): Promise<void> => {
    const later = levels[level];
    if (later === undefined || opened[level] !== undefined) return;
    try {
      const programs = await later.open((tried, use) => tryLevel(level, requireLevel(level, tried), use));
      opened[level] = requireLevel(level, programs);
    } catch (error) {
      const code = isRuntimeError(error) ? error.code : 'unsupported';
      const reason = error instanceof Error ? error.message : String(error);
      throw new RuntimeError(code, `no sandbox of level ${level} starts on this host: ${reason}`, {
        cause: error,
      });
    }
  };

  return (level) => {
    const opening = running.get(level) ?? open(level).finally(() => running.delete(level));
    running.set(level, opening);
    return opening;
  };
};
