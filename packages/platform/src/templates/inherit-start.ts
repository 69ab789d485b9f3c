import type { StartCommands } from '../store/build-store.ts';
import type { BuildPlan } from './build-plan.ts';
import type { Place } from './place.ts';

/**
 * The start commands of a build: its own run where a further step would. Without any, those of its base remain, where
 * they run there. Build arguments are not among its variables. A check of its own alone replaces that of its base; a start command replaces both.
 */
export const inheritStart = (
  { startCmd, readyCmd }: Pick<BuildPlan, 'startCmd' | 'readyCmd'>,
  { place, inherited }: { place: Place; inherited: StartCommands | null },
): StartCommands | null => {
  if (startCmd === undefined && readyCmd === undefined) return inherited;
  if (startCmd === undefined && readyCmd !== undefined && inherited !== null)
    return { ...inherited, readyCmd };
  const { user, workdir, env } = place;
  return { startCmd: startCmd ?? null, readyCmd: readyCmd ?? null, user, workdir, env };
};
