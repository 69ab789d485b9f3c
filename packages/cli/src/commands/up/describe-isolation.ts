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

export interface DescribedIsolation {
  lines: string[];
  /** The levels of which nothing is known yet. */
  untried: IsolationLevel[];
}

/**
 * Says what the level of a server is for, and which word starts one with each other level, and whether that works on this host. Starts
 * nothing, as the server is ready and its user waits.
 */
export async function describeIsolation(
  level: IsolationLevel,
  findState: (level: IsolationLevel) => Promise<LevelState>,
): Promise<DescribedIsolation> {
  const described: DescribedIsolation = { lines: [`${level}, ${purposes[level]}`], untried: [] };
  for (const other of isolationLevels) {
    if (other === level) continue;
    const state = await findState(other);
    described.lines.push(`${purposes[other]}: --isolation ${other} ${toNote(state)}`);
    if (isUntried(state)) described.untried.push(other);
  }
  return described;
}

const isUntried = ({ obstacle, hasWorked = false }: LevelState): boolean =>
  obstacle === undefined && !hasWorked;

function toNote(state: LevelState): string {
  if (state.obstacle !== undefined) return `does not start here: ${state.obstacle}`;
  return isUntried(state) ? '(being tried; missing programs are fetched)' : 'works here';
}

/** The state of a level on this host, whose servers keep the programs of sandboxes in that folder. */
export async function findLevelState(level: IsolationLevel, programsDir: string): Promise<LevelState> {
  const obstacle = findLevelObstacle(level, { rootless: currentRootlessState() !== undefined });
  if (obstacle !== undefined) return { obstacle };
  return { hasWorked: await hasLevelWorked(level, { programsDir }) };
}
