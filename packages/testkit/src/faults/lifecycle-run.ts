import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Stack } from '../stack/stack.ts';
import { toArgs } from './level.ts';
import { createOperationRun, type OperationReport, watchLog } from './lifecycle/operation-run.ts';
import { findHeldBy, findOrphans } from './lifecycle/orphans.ts';
import { createServerKeeper, findHelper, type Victim } from './lifecycle/server-keeper.ts';
import { createRandom } from './random.ts';

export interface LifecycleRunOptions {
  seed: number;
  level?: IsolationLevel;
  durationMs: number;
  /** How many operations are to be done, however long that takes. */
  leastOperations: number;
  /** About how many sandboxes there are. */
  sandboxCount: number;
  /** How many operations are under way at the same time. */
  lanes: number;
  /** Between two kills, on average. */
  killEveryMs: number;
}

export interface LifecycleReport extends OperationReport {
  kills: Record<Victim, number>;
  orphans: string[];
}

/**
 * Does random things to sandboxes while the server and its helper are killed and come back; in the end looks at everything
 * that was acknowledged, and for everything that is left when all of it is removed.
 */
export const runLifecycle = async (options: LifecycleRunOptions): Promise<LifecycleReport> => {
  const { seed, level = 'container', durationMs, leastOperations, killEveryMs, ...amounts } = options;
  const random = createRandom(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-lifecycle-'));
  const kills: Record<Victim, number> = { server: 0, helper: 0 };
  const orphans: string[] = [];
  const ids = new Set<string>();
  const keeper = await createServerKeeper({
    server: { dataDir, args: toArgs(level) },
    onReturn: async (stack) => {
      await operations.compareStates(stack);
      await operations.removeStrays(stack);
    },
  });
  const operations = createOperationRun({
    ...amounts,
    random,
    subject: {
      current: async () => {
        const stack = await keeper.current();
        return { ...stack, watchLog: () => watchLog(stack.log) };
      },
      watchFaults: () => {
        const { kills: before } = keeper;
        return () => keeper.kills !== before;
      },
    },
  });
  // Before there is anything in it, so that no id escapes.
  mkdirSync(join(dataDir, 'sandboxes'), { recursive: true, mode: 0o711 });
  const watcher = watch(join(dataDir, 'sandboxes'), (_, name) => name && ids.add(name));

  const untilMs = performance.now() + durationMs;
  const killer = async (): Promise<void> => {
    for (;;) {
      const waitMs = killEveryMs * (0.5 + random());
      if (performance.now() + waitMs > untilMs) return;
      await delay(waitMs);
      const victim = random() < 0.5 ? 'server' : 'helper';
      await keeper.kill(victim);
      kills[victim] += 1;
    }
  };
  try {
    await Promise.all([killer(), operations.run({ atMs: untilMs, leastOperations })]);
    await operations.finish();
    const stack = await keeper.current();
    orphans.push(...(await findRest(stack)));
    await stack.stop();
  } finally {
    // Also where something is wrong with the run itself.
    await (await keeper.current()).down();
    watcher.close();
  }
  orphans.push(...(await findOrphans(dataDir, [...ids])));
  if (orphans.length === 0) rmSync(dataDir, { recursive: true });
  return { ...operations.report, kills, orphans };
};

const SETTLE_MS = 20_000;

/** Returns what is left of sandboxes on a server that runs none. A removal may be under way for a moment. */
const findRest = async ({ dataDir, pid }: Stack & { dataDir: string }): Promise<string[]> => {
  for (const deadline = performance.now() + SETTLE_MS; ; await delay(50)) {
    const rest = [
      ...['sandboxes', 'snapshots'].flatMap((name) => readdirSync(join(dataDir, name))),
      ...findHeldBy(pid, dataDir),
      ...findHeldBy(findHelper({ pid } as Stack), dataDir),
    ];
    if (rest.length === 0 || performance.now() > deadline) return rest;
  }
};
