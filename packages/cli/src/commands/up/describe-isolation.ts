import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { findLevelObstacle } from '@skerry/runtime';
import { currentRootlessState } from '../../current-rootless-state.ts';

/** What a level is for: the words of the first lines of README.md. */
const purposes: Record<IsolationLevel, string> = {
  container: 'for code of your own or your team',
  gvisor: 'for hostile code',
};

/** Says what the level of a server is for, and which word starts one with each other level, or what prevents that on this host. */
export function describeIsolation(level: IsolationLevel, findObstacle = findObstacleHere): string[] {
  const others = isolationLevels
    .filter((other) => other !== level)
    .map((other) => {
      const obstacle = findObstacle(other);
      const note =
        obstacle === undefined ? ' ("skerry doctor" tries it)' : ` does not start here: ${obstacle}`;
      return `${purposes[other]}: --isolation ${other}${note}`;
    });
  return [`${level}, ${purposes[level]}`, ...others];
}

const findObstacleHere = (level: IsolationLevel): string | undefined =>
  findLevelObstacle(level, { rootless: currentRootlessState() !== undefined });
