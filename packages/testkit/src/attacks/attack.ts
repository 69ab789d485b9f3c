import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import type { AttackRow } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { CreateOptions } from '../stack/stack-client.ts';

/** Adds a line for the same place. */
export type ReportAttack = (row: Omit<AttackRow, 'place'>) => void;

/** A test that passes when what it tries is stopped. `pnpm test:attacks` prints a line for it, and those that `run` reports. */
export const testAttack = (row: AttackRow, run: (report: ReportAttack) => Promise<void>): void => {
  const where = row.place === 'outside' ? 'from outside' : `at level ${row.place}`;
  it(`${row.attack} is stopped ${where}`, async ({ task }) => {
    const rows = [row];
    task.meta.attacks = rows;
    await run((more) => void rows.push({ ...more, place: row.place }));
  });
};

/** Declares an attack of a client. */
export const attackFromOutside = (attack: string, stoppedBy: string, run: () => Promise<void>): void =>
  testAttack({ attack, place: 'outside', stoppedBy }, run);

/** The shared server of a level, for attacks from inside its sandboxes. */
export interface LevelUnderAttack {
  readonly level: IsolationLevel;
  /** That server, during a test. */
  server(): SharedStack;
  /** Makes a sandbox, which ends with the tests of the file. */
  open(options?: CreateOptions): Promise<Sandbox>;
  /** Declares an attack from inside; `run` may report further lines. */
  attack(
    attack: string,
    stoppedBy: string | Readonly<Record<IsolationLevel, string>>,
    run: (report: ReportAttack) => Promise<void>,
  ): void;
}

/** Declares the same attacks for each level. `define` starts a server of its own: the shared one would be disturbed. */
export const atEachLevelAlone = (define: (at: Pick<LevelUnderAttack, 'level' | 'attack'>) => void): void => {
  describe.each(isolationLevels)('at level %s', (level) => {
    define({
      level,
      attack: (attack, stoppedBy, run) => {
        const by = typeof stoppedBy === 'string' ? stoppedBy : stoppedBy[level];
        testAttack({ attack, place: level, stoppedBy: by }, run);
      },
    });
  });
};

/** Declares the same attacks for the shared server of each level. */
export const atEachLevel = (define: (at: LevelUnderAttack) => void): void =>
  atEachLevelAlone(({ level, attack }) => {
    let stack: SharedStack;
    beforeAll(async () => {
      stack = await joinStack({ level });
    });
    afterAll(() => stack.leave());
    define({
      level,
      attack,
      server: () => stack,
      open: async (options) => {
        const { sandboxId } = await stack.createSandbox(options);
        return Sandbox.connect(sandboxId, stack.connection);
      },
    });
  });
