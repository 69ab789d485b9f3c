import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Holds scripts of the shell back until a test lets them go on. */
export interface Gate {
  /** The command that waits. */
  readonly wait: string;
  open(): void;
}

/** `dir` can be entered by the users of the scripts. The gate is closed at first. */
export const createGate = (dir: string): Gate => {
  const path = join(dir, `gate-${randomUUID()}`);
  return {
    wait: `until [ -e ${path} ]; do sleep 0.02; done`,
    open: () => writeFileSync(path, ''),
  };
};
