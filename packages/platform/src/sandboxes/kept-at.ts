import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Features, Kept } from '@skerry/runtime';

const NOTHING: Kept = {
  pause: { memory: false, filesystem: false },
  snapshot: { memory: false, filesystem: false },
};

/** Returns what is kept of sandboxes of a level: nothing of one that no host has. */
export const keptAt = ({ levels }: Pick<Features, 'levels'>, isolation: IsolationLevel): Kept =>
  levels[isolation] ?? NOTHING;
