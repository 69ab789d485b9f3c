import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, SandboxError } from '@skerry/sdk';
import type { Stack } from '../stack.ts';
import { killOperations, reach } from './kills/kill-operations.ts';
import { readProgram, watchSteps } from './kills/watch-steps.ts';
import { findLosses, startCounter, writeFile } from './lifecycle/kept-content.ts';
import { findSandbox, type KnownSandbox, LIFE_MS } from './lifecycle/operations.ts';
import { findOrphans } from './lifecycle/orphans.ts';
import { createServerKeeper, findHelper, type Victim } from './lifecycle/server-keeper.ts';
import { createRandom } from './random.ts';

export interface KillRunOptions {
  seed: number;
  /** Besides what it takes to see the steps. */
  durationMs: number;
}

/** `program`: one that the helper has started, such as crun and CRIU. */
type Target = Victim | 'program';

export interface KillReport {
  /** How many steps of each operation show, and how many of them were chosen for a kill. */
  steps: Record<string, { all: number; programs: number }>;
  kills: number;
  ofSteps: number;
  killed: Record<string, number>;
  /** How the operations ended whose server, helper or program was killed. */
  outcomes: Record<string, number>;
  /** Sandboxes that ended with a program that worked inside of them. */
  ended: number;
  failures: string[];
  losses: string[];
  orphans: string[];
}

/** Of a kill after the step that it belongs to. A program goes through many steps that do not show from outside. */
const MAX_DELAY_MS = { step: 15, program: 80 };
const PROGRAM_TURNS = 8;

/**
 * Kills server, helper, or a program that the helper has started, at a step of an operation; then the state of before is
 * there, or that of after, with all content, nothing half made is left, and the same operation succeeds. Goes through the
 * steps in an order of the seed's until the time is over, or none is left.
 */
export const runKills = async ({ seed, durationMs }: KillRunOptions): Promise<KillReport> => {
  const random = createRandom(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-kills-'));
  const report: KillReport = {
    steps: {},
    kills: 0,
    ofSteps: 0,
    killed: {},
    outcomes: {},
    ended: 0,
    failures: [],
    losses: [],
    orphans: [],
  };
  const count = (into: Record<string, number>, name: string): void => {
    into[name] = (into[name] ?? 0) + 1;
  };
  const keeper = await createServerKeeper(dataDir, async () => undefined);
  for (const name of ['sandboxes', 'snapshots']) mkdirSync(join(dataDir, name), { recursive: true });
  const ids = new Set<string>();
  const content: { known: KnownSandbox | undefined } = { known: undefined };

  const createKnown = async (stack: Stack): Promise<KnownSandbox> => {
    const sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: LIFE_MS });
    const [name, hash] = await writeFile(sandbox, { name: 'kept', text: sandbox.sandboxId.repeat(300) });
    const counter = await startCounter(sandbox);
    return { id: sandbox.sandboxId, files: new Map([[name, hash]]), counter, state: 'running' };
  };

  /** Nothing that was half made, or that nobody was told of, stays: at once, or as soon as it is found. */
  const removeRest = async (stack: Stack, id: string, name: string): Promise<void> => {
    for await (const { sandboxId } of Sandbox.list(stack.connection))
      if (sandboxId !== id) await Sandbox.kill(sandboxId, stack.connection);
    for await (const { snapshotId } of Sandbox.listSnapshots(stack.connection))
      await Sandbox.deleteSnapshot(snapshotId, stack.connection);
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const rest = [...readdirSync(join(dataDir, 'sandboxes')), ...readdirSync(join(dataDir, 'snapshots'))];
      const strays = rest.filter((found) => found !== id);
      if (strays.length === 0) return;
      if (performance.now() > deadline) {
        report.orphans.push(`${strays.join(' ')} after ${name}`);
        return;
      }
      await delay(20);
    }
  };

  const check = async (
    stack: Stack,
    { name, target, keepsProcesses }: { name: string; target: Target | undefined; keepsProcesses: boolean },
  ): Promise<void> => {
    const { known } = content;
    if (known === undefined) return;
    // What a kill has left may answer with an error for a moment.
    const sandbox = await retry(() => findSandbox(stack, known.id));
    if (sandbox === undefined) {
      // The one end that is documented.
      if (target === 'program') report.ended += 1;
      else report.losses.push(`the sandbox after ${name}`);
      content.known = undefined;
      return;
    }
    const expected = keepsProcesses ? known : { ...known, counter: undefined };
    const { losses, counter } = await retry(() => findLosses(sandbox, expected));
    report.losses.push(...losses.map((loss) => `${loss} after ${name}`));
    known.counter = losses.length > 0 || counter === undefined ? await startCounter(sandbox) : counter;
  };

  /** Does an operation and kills at that step of it; without one only counts them. Tells whether it came to that step. */
  const tryOnce = async (kind: string, target?: Target, at = 0): Promise<boolean> => {
    const operation = killOperations[kind] as (typeof killOperations)[string];
    const stack = await keeper.current();
    content.known ??= await createKnown(stack);
    const { known } = content;
    ids.add(known.id);
    await reach(operation.from, stack, known.id);
    const steps = { all: 0, programs: 0 };
    let killing: Promise<void> | undefined;
    const delayMs = random() < 0.5 ? 0 : random() * MAX_DELAY_MS[target === 'program' ? target : 'step'];
    const kill = async (pid: number | undefined): Promise<void> => {
      if (delayMs > 0) await delay(delayMs);
      if (target === 'program' && pid !== undefined) {
        count(report.killed, readProgram(pid));
        killProcess(pid);
      } else if (target !== undefined && target !== 'program') {
        count(report.killed, target);
        await keeper.kill(target);
      }
    };
    const stop = watchSteps({ dataDir, helperPid: findHelper(stack) }, ({ pid }) => {
      steps.all += 1;
      if (pid !== undefined) steps.programs += 1;
      const mine = target === 'program' ? steps.programs : steps.all;
      if (target === undefined || killing || mine !== at || (target === 'program' && pid === undefined))
        return;
      killing = kill(pid);
    });
    const name = `${kind}, ${target} killed at step ${at}`;
    try {
      await operation.act(stack, known);
      if (killing) count(report.outcomes, `${target}: done`);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (killing) count(report.outcomes, `${target}: ${error.code}`);
      else report.failures.push(`${kind} without a kill: ${error.code} ${error.message}`);
    } finally {
      stop();
      await killing;
    }
    report.steps[kind] ??= steps;
    const now = await keeper.current();
    await check(now, { name, target, keepsProcesses: !operation.endsProcesses });
    await removeRest(now, content.known?.id ?? '', name);
    return killing !== undefined;
  };

  /** Everything is as if nothing had been: the same operation succeeds. */
  const tryAgain = async (kind: string, after: string): Promise<void> => {
    const { failures } = report;
    const before = failures.length;
    await tryOnce(kind);
    if (failures.length > before) failures.push(`(that was ${kind} again, after ${after})`);
  };

  try {
    for (const kind of Object.keys(killOperations)) await tryOnce(kind);
    const untilMs = performance.now() + durationMs;
    const plan = Object.entries(report.steps).flatMap(([kind, { all, programs }]) =>
      (['server', 'helper', 'program'] as const).flatMap((target) =>
        Array.from({ length: target === 'program' ? programs * PROGRAM_TURNS : all }, (_, index) => ({
          kind,
          target,
          at: target === 'program' ? 1 + (index % programs) : index + 1,
          order: random(),
        })),
      ),
    );
    report.ofSteps = plan.length;
    for (const { kind, target, at } of plan.toSorted((a, b) => a.order - b.order)) {
      if (performance.now() > untilMs) break;
      if (!(await tryOnce(kind, target, at))) continue;
      report.kills += 1;
      await tryAgain(kind, `${target} at ${at}`);
    }
    const stack = await keeper.current();
    if (content.known) await Sandbox.kill(content.known.id, stack.connection);
    await stack.stop();
  } finally {
    // Also where something is wrong with the run itself.
    await (await keeper.current()).down();
  }
  report.orphans.push(...(await findOrphans(dataDir, [...ids])));
  if (report.orphans.length === 0) rmSync(dataDir, { recursive: true });
  return report;
};

const SETTLE_MS = 10_000;

const retry = async <T>(act: () => Promise<T>): Promise<T> => {
  for (const deadline = performance.now() + SETTLE_MS; ; await delay(100)) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof SandboxError) || performance.now() > deadline) throw error;
    }
  }
};

const killProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It was done.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
