import type { IsolationLevel } from '@skerry/contract/isolation';
import { isRuntimeError, RuntimeError } from '../../error.ts';
import type { LaterLevel, LevelPrograms, OpenedLevel } from './opened-levels.ts';

export type LaterLevels = Readonly<Partial<Record<IsolationLevel, LaterLevel>>>;

/**
 * Returns the function that opens a level of `laterLevels` at its first use; concurrent callers share one opening. The level is in `opened`
 * while its memory is proved, so that the proof can start a sandbox.
 */
export const createLevelOpening = ({
  laterLevels,
  opened,
  openWith,
  proveMemory,
}: {
  laterLevels: LaterLevels;
  opened: Partial<Record<IsolationLevel, OpenedLevel>>;
  openWith: (level: IsolationLevel, programs: LevelPrograms) => void;
  proveMemory: (level: IsolationLevel, later: LaterLevel) => Promise<boolean>;
}): ((level: IsolationLevel) => Promise<void>) => {
  const running = new Map<IsolationLevel, Promise<void>>();

  const open = async (level: IsolationLevel): Promise<void> => {
    const later = laterLevels[level];
    if (later === undefined || opened[level] !== undefined) return;
    try {
      const programs = await later.open();
      openWith(level, programs);
      if (opened[level] === undefined)
        throw new RuntimeError('unsupported', 'no program starts its sandboxes');
      if (later.keepsMemory && !(await proveMemory(level, later)))
        openWith(level, { ...programs, criuDir: undefined, keepsMemory: false });
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
