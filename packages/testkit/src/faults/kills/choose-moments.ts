import type { Step } from './watch-steps.ts';

/** A moment at which a process can be killed, as seen from outside. */
export interface Moment {
  /** The step that shows then. */
  step: string;
  /** Which one it is of the times at which something shows: what others do meanwhile may give steps other names. */
  turn: number;
}

/** One of this many times is chosen at which one thing goes on, such as the copying of a disk. */
const SERIES = 4;

/** Each time at which something else happens than before, and some of those at which one thing goes on. */
export const chooseMoments = (steps: readonly Step[]): Moment[] => {
  const chosen: Moment[] = [];
  let turn = 0;
  let inSeries = 0;
  let last = '';
  for (const { name, what, isFirst } of steps) {
    if (isFirst) {
      turn += 1;
      inSeries = what === last ? inSeries + 1 : 0;
      if (inSeries % SERIES === 0) chosen.push({ step: name, turn });
    }
    last = what;
  }
  return chosen;
};
