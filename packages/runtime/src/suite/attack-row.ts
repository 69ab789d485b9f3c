import type { IsolationLevel } from '@skerry/contract/isolation';
import type { TestContext } from 'vitest';

/** Where an attack is tried: inside a sandbox of a level, or from outside, where levels do not matter. */
export type AttackPlace = IsolationLevel | 'outside';

/** One line of the table of attacks. */
export interface AttackRow {
  /** What is attempted, as a noun phrase. */
  attack: string;
  place: AttackPlace;
  stoppedBy: string;
}

declare module 'vitest' {
  interface TaskMeta {
    /** What the test tried: none of it succeeded when the test passes. */
    attacks?: AttackRow[];
  }
}

/** Has `pnpm test:attacks` print a line for a test that passes when what it tries is stopped. Tests of equal rows share one. */
export const markAttack = ({ task }: Pick<TestContext, 'task'>, row: AttackRow): void => {
  task.meta.attacks = [row];
};
