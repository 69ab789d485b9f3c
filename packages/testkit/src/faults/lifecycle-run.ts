import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { Sandbox, SandboxError } from '@skerry/sdk';
import type { Stack } from '../stack/stack.ts';
import { toArgs } from './level.ts';
import { toComplaints } from './lifecycle/complaints.ts';
import { type Content, findLosses, startCounter } from './lifecycle/kept-content.ts';
import {
  create,
  createFromSnapshot,
  deleteSnapshot,
  deleteUnused,
  findSandbox,
  type KnownSandbox,
  operations,
  type World,
} from './lifecycle/operations.ts';
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

export interface LifecycleReport {
  /** How many of each kind were acknowledged, and how many a kill cut off. */
  done: Record<string, number>;
  cutOff: Record<string, number>;
  kills: Record<Victim, number>;
  /** Sandboxes and snapshots whose content was compared with what is known of it. */
  checks: number;
  /** What a kill kept from being acknowledged and was there nevertheless. */
  unacknowledged: number;
  /** Operations that failed although no process was killed, each with the errors that the server logged meanwhile. */
  failures: { what: string; log: string[] }[];
  losses: string[];
  orphans: string[];
}

const MAX_SNAPSHOTS = 8;

/**
 * Does random things to sandboxes while the server and its helper are killed and come back; in the end looks at everything
 * that was acknowledged, and for everything that is left when all of it is removed. Order and timing of what many do at once
 * are not the seed's: one seed gives similar runs, not equal ones.
 */
export const runLifecycle = async (options: LifecycleRunOptions): Promise<LifecycleReport> => {
  const {
    seed,
    level = 'container',
    durationMs,
    leastOperations,
    sandboxCount,
    lanes,
    killEveryMs,
  } = options;
  const random = createRandom(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-lifecycle-'));
  const report: LifecycleReport = {
    done: {},
    cutOff: {},
    kills: { server: 0, helper: 0 },
    checks: 0,
    unacknowledged: 0,
    failures: [],
    losses: [],
    orphans: [],
  };
  const sandboxes: World['sandboxes'] = new Map();
  const snapshots: World['snapshots'] = new Map();
  const busy = new Set<string>();
  const ids = new Set<string>();

  const count = (into: Record<string, number>, name: string): void => {
    into[name] = (into[name] ?? 0) + 1;
  };
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];

  const removeStrays = async (stack: Stack): Promise<void> => {
    for await (const { sandboxId } of Sandbox.list(stack.connection)) {
      if (sandboxes.has(sandboxId)) continue;
      report.unacknowledged += 1;
      await Sandbox.kill(sandboxId, stack.connection);
    }
    for await (const { snapshotId } of Sandbox.listSnapshots(stack.connection)) {
      if (snapshots.has(snapshotId)) continue;
      if (await deleteUnused(stack, snapshotId)) report.unacknowledged += 1;
    }
  };

  /** Every sandbox without a running operation is in the state in which it was left. */
  const compareStates = async (stack: Stack): Promise<void> => {
    const states = new Map<string, string>();
    for await (const { sandboxId, state } of Sandbox.list(stack.connection)) states.set(sandboxId, state);
    for (const { id, state } of sandboxes.values()) {
      if (!busy.has(id) && states.get(id) !== state)
        report.losses.push(`${id} was ${state} and is ${states.get(id)}`);
    }
  };

  const keeper = await createServerKeeper({
    server: { dataDir, args: toArgs(level) },
    onReturn: async (stack) => {
      await compareStates(stack);
      await removeStrays(stack);
    },
  });
  // Before there is anything in it, so that no id escapes.
  mkdirSync(join(dataDir, 'sandboxes'), { recursive: true, mode: 0o711 });
  const watcher = watch(join(dataDir, 'sandboxes'), (_, name) => name && ids.add(name));

  const check = async (stack: Stack, known: KnownSandbox, content: Content = known): Promise<void> => {
    const sandbox = await findSandbox(stack, known.id);
    known.state = 'running';
    if (sandbox === undefined) {
      report.losses.push(`sandbox ${known.id}`);
      sandboxes.delete(known.id);
      return;
    }
    const { losses, counter } = await findLosses(sandbox, content);
    report.checks += 1;
    report.losses.push(...losses.map((loss) => `${loss} of ${known.id}`));
    known.counter = losses.length > 0 || counter === undefined ? await startCounter(sandbox) : counter;
  };

  /** After an operation that a kill cut off: it was done, or it was not, and nothing else. */
  const settle = async (kind: string, known: KnownSandbox): Promise<void> => {
    const stack = await keeper.current();
    if (kind.startsWith('kill')) {
      await Sandbox.kill(known.id, stack.connection);
      sandboxes.delete(known.id);
      return;
    }
    // Its processes were to end, and may have.
    const mayEnd = kind === 'pause files only';
    await check(stack, known, mayEnd ? { ...known, counter: undefined } : known);
  };

  const isCut = (error: unknown, kills: number): boolean => {
    if (!(error instanceof SandboxError)) throw error;
    return keeper.kills !== kills;
  };

  /** What a kill has left may answer with an error for a moment; then everything is there. */
  const settleSoon = async (kind: string, known: KnownSandbox): Promise<void> => {
    let { kills } = keeper;
    for (let deadline = performance.now() + SETTLE_MS; ; await delay(100)) {
      try {
        await settle(kind, known);
        return;
      } catch (error) {
        const wasCut = isCut(error, kills);
        ({ kills } = keeper);
        if (wasCut) deadline = performance.now() + SETTLE_MS;
        else if (performance.now() > deadline) {
          report.losses.push(`${known.id} cannot be used after ${kind}: ${(error as Error).message}`);
          return;
        }
      }
    }
  };

  /** Does one thing, on a sandbox of its own or none, and again what a kill cut off. */
  const attempt = async (
    kind: string,
    known: KnownSandbox | undefined,
    act: (world: World) => Promise<unknown>,
  ): Promise<void> => {
    if (known) busy.add(known.id);
    const stack = await keeper.current();
    const { kills } = keeper;
    const logged = stack.log().length;
    try {
      if ((await act({ stack, sandboxes, snapshots, busy, random })) !== false) count(report.done, kind);
    } catch (error) {
      const cut = isCut(error, kills);
      if (cut) count(report.cutOff, kind);
      else {
        const what = `${kind} ${known?.id}: ${(error as SandboxError).code} ${(error as Error).message}`;
        // What was logged before the answer may be read after it.
        await delay(LOG_MS);
        report.failures.push({ what, log: toComplaints(stack.log().slice(logged)) });
      }
      if (known) await settleSoon(kind, known);
    } finally {
      if (known) busy.delete(known.id);
    }
  };

  const chooseSandbox = (state: KnownSandbox['state']): KnownSandbox | undefined =>
    pick([...sandboxes.values()].filter((known) => known.state === state && !busy.has(known.id)));

  const step = async (): Promise<void> => {
    const snapshot = pick([...snapshots.values()]);
    if (random() < (sandboxes.size < sandboxCount ? 0.3 : 0)) {
      if (snapshot && random() < 0.3)
        return attempt('create from a snapshot', undefined, (world) => createFromSnapshot(world, snapshot));
      return attempt('create', undefined, create);
    }
    if (snapshot && snapshots.size > MAX_SNAPSHOTS)
      return attempt('delete a snapshot', undefined, (world) => deleteSnapshot(world, snapshot));
    const isFull = sandboxes.size >= sandboxCount;
    const fits = Object.keys(operations).filter((kind) =>
      isFull ? kind !== 'fork' : !kind.startsWith('kill') || random() < 0.3,
    );
    const kind = pick(fits) ?? 'write';
    const operation = operations[kind];
    const known = operation && chooseSandbox(operation.from);
    if (operation && known) return attempt(kind, known, (world) => operation.act(world, known));
    return attempt('create', undefined, create);
  };

  const doneCount = (): number => Object.values(report.done).reduce((sum, one) => sum + one, 0);
  const untilMs = performance.now() + durationMs;
  const lane = async (): Promise<void> => {
    while (performance.now() < untilMs || doneCount() < leastOperations) await step();
  };
  const killer = async (): Promise<void> => {
    for (;;) {
      const waitMs = killEveryMs * (0.5 + random());
      if (performance.now() + waitMs > untilMs) return;
      await delay(waitMs);
      const victim = random() < 0.5 ? 'server' : 'helper';
      await keeper.kill(victim);
      report.kills[victim] += 1;
    }
  };
  try {
    await Promise.all([killer(), ...Array.from({ length: lanes }, lane)]);

    const stack = await keeper.current();
    await compareStates(stack);
    for (const known of [...sandboxes.values()]) await attempt('check', known, () => check(stack, known));
    for (const { id } of snapshots.values()) {
      const damage = await Sandbox.verifySnapshot(id, stack.connection).catch((error: Error) => [
        error.message,
      ]);
      report.losses.push(...damage.map((loss) => `snapshot ${id}: ${loss}`));
      report.checks += 1;
    }
    sandboxes.clear();
    snapshots.clear();
    const { unacknowledged } = report;
    await removeStrays(stack);
    report.unacknowledged = unacknowledged;
    report.orphans.push(...(await findRest(stack)));
    await stack.stop();
  } finally {
    // Also where something is wrong with the run itself.
    await (await keeper.current()).down();
    watcher.close();
  }
  report.orphans.push(...(await findOrphans(dataDir, [...ids])));
  if (report.orphans.length === 0) rmSync(dataDir, { recursive: true });
  return report;
};

const SETTLE_MS = 20_000;
const LOG_MS = 200;

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
