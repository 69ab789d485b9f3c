import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { findLevelObstacle, hasLevelWorked } from '@skerry/runtime';
import { currentRootlessState } from '@skerry/server/host';

/** What a level is for: the words of the first lines of README.md. */
const purposes: Record<IsolationLevel, string> = {
  container: 'for code of your own or your team',
  gvisor: 'for hostile code',
};

/** What is known of a level on this host. */
export interface LevelState {
  /** Why it does not start. */
  obstacle?: string | undefined;
  /** Whether a server has started sandboxes with it here. */
  hasWorked?: boolean;
}

/**
 * Says what the level of a server is for, and which word starts one with each other level, and whether that works on this host. Starts
 * nothing, as the server is ready and its user waits.
 */
export async function describeIsolation(
  level: IsolationLevel,
  findState: (level: IsolationLevel) => Promise<LevelState>,
): Promise<string[]> {
  const lines = [`${level}, ${purposes[level]}`];
  for (const other of isolationLevels) {
    if (other !== level)
      lines.push(`${purposes[other]}: --isolation ${other} ${toNote(await findState(other))}`);
  }
  return lines;
}

function toNote({ obstacle, hasWorked = false }: LevelState): string {
  if (obstacle !== undefined) return `does not start here: ${obstacle}`;
  return hasWorked ? 'works here' : '(untried: see "skerry doctor")';
}

/** The state of a level on this host, whose servers keep the programs of sandboxes in that folder. */
export async function findLevelState(level: IsolationLevel, programsDir: string): Promise<LevelState> {
  const obstacle = findLevelObstacle(level, { rootless: currentRootlessState() !== undefined });
  if (obstacle !== undefined) return { obstacle };
  return { hasWorked: await hasLevelWorked(level, { programsDir }) };
}
