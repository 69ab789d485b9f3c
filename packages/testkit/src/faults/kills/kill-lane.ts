import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import type { Stack, StackOptions } from '../../stack/stack.ts';
import { toComplaints } from '../lifecycle/complaints.ts';
import { findLosses, startCounter, writeFile } from '../lifecycle/kept-content.ts';
import { findSandbox, type KnownSandbox, LIFE_MS } from '../lifecycle/operations.ts';
import { findOrphans } from '../lifecycle/orphans.ts';
import { createServerKeeper, findHelper, type Victim } from '../lifecycle/server-keeper.ts';
import type { KillOperation, SandboxState } from './kill-operations.ts';
import type { KillReport } from './kill-report.ts';
import { retry } from './retry.ts';
import { readProgram, type Step, watchedFolders, watchSteps } from './watch-steps.ts';

/** `program`: one that the helper has started, such as crun and CRIU. */
export type Target = Victim | 'program';

/** A kill of a process, at a delay after a visible step of an operation. */
export interface PlannedKill {
  kind: string;
  target: Target;
  /** The name of a step, or which one it is of the times at which something shows. */
  at: string | number;
  delayMs: number;
}

/** A server with one sandbox that is known to the last, on which one operation is done after the other. */
export interface KillLane {
  /** Does an operation, and resolves with the steps that it showed. */
  observe(kind: string): Promise<Step[]>;
  /**
   * Does an operation and kills at that step of it; then the state of before is there, or that of after, with all content,
   * nothing half made is left, and the same operation succeeds. Tells whether it came to that step. What is not as it should be
   * is in the report.
   */
  kill(planned: PlannedKill): Promise<boolean>;
  /** The state that the sandbox is in. An operation that begins with it costs the least. */
  readonly state: SandboxState;
  /** Compares all content once more, removes all there is, and reports what is left then. */
  end(): Promise<void>;
}

export interface KillLaneOptions {
  operations: Record<string, KillOperation>;
  report: KillReport;
  server: StackOptions;
}

interface CheckOptions {
  /** The name of what was done before. */
  name: string;
  /** Whether what ran in the sandbox may have ended by it. */
  mayEnd?: boolean;
}

/** Starts a server over a folder of its own. */
export const createKillLane = async (options: KillLaneOptions): Promise<KillLane> => {
  const { operations, report } = options;
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-kills-'));
  const keeper = await createServerKeeper({ server: { ...options.server, dataDir } });
  for (const name of watchedFolders) mkdirSync(join(dataDir, name), { recursive: true });
  const ids = new Set<string>();
  let known: KnownSandbox | undefined;
  let state: SandboxState = 'running';

  const count = (into: Record<string, number>, name: string): void => {
    into[name] = (into[name] ?? 0) + 1;
  };

  const createKnown = async ({ connection }: Stack): Promise<KnownSandbox> => {
    const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS, autoResume: true });
    const { sandboxId: id } = sandbox;
    ids.add(id);
    const files = new Map([await writeFile(sandbox, { name: 'kept', text: id.repeat(300) })]);
    return { id, files, counter: undefined, state: 'running' };
  };

  /** The sandbox in that state, from whatever state it is in, with a process inside unless those are to end. */
  const reach = async (
    stack: Stack,
    { from, endsProcesses = false }: KillOperation,
  ): Promise<KnownSandbox> => {
    if (known === undefined) state = 'running';
    known ??= await createKnown(stack);
    const needsCounter = !endsProcesses && known.counter === undefined;
    if (state === from && !needsCounter) return known;
    const sandbox = await Sandbox.connect(known.id, { ...stack.connection, timeoutMs: LIFE_MS });
    state = 'running';
    if (needsCounter) known.counter = await startCounter(sandbox);
    if (from !== 'running') await sandbox.pause({ memory: from === 'paused with memory' });
    state = from;
    return known;
  };

  /** Nothing half made or unacknowledged stays: it is removed at once, or as soon as it is found. */
  const removeRest = async (stack: Stack, name: string): Promise<void> => {
    for await (const { sandboxId } of Sandbox.list(stack.connection))
      if (sandboxId !== known?.id) await Sandbox.kill(sandboxId, stack.connection);
    for await (const { snapshotId } of snapshots.list(stack.connection))
      await snapshots.delete(snapshotId, stack.connection);
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const rest = [...readdirSync(join(dataDir, 'sandboxes')), ...readdirSync(join(dataDir, 'snapshots'))];
      const strays = rest.filter((found) => found !== known?.id);
      if (strays.length === 0) return;
      if (performance.now() > deadline) {
        const complaints = toComplaints(stack.log()).filter((line) => strays.some((id) => line.includes(id)));
        report.orphans.push([`${strays.join(' ')} after ${name}`, ...complaints].join('\n'));
        return;
      }
      await delay(5);
    }
  };

  /** Checks the sandbox, which runs when this resolves, if it is there at all. */
  const check = async (stack: Stack, { name, mayEnd = false }: CheckOptions): Promise<void> => {
    const expected = known;
    if (expected === undefined) return;
    try {
      if (await compare(stack, expected, { name, mayEnd })) state = 'running';
      else known = undefined;
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      const loss = `${expected.id} cannot be used after ${name}: ${error.code} ${error.message}`;
      report.losses.push(withLog(loss, stack, expected.id));
      known = undefined;
    }
  };

  /** Tells whether it is there. */
  const compare = async (
    stack: Stack,
    expected: KnownSandbox,
    { name, mayEnd = false }: CheckOptions,
  ): Promise<boolean> => {
    // What a kill has left may answer with an error for a moment.
    const sandbox = await retry(() => findSandbox(stack, expected.id));
    if (sandbox === undefined) {
      if (mayEnd) report.ended += 1;
      else report.losses.push(withLog(`the sandbox after ${name}`, stack, expected.id));
      return false;
    }
    let { losses, counter } = await retry(() => findLosses(sandbox, expected));
    if (losses.length > 0 && mayEnd) {
      // Processes alone may be lost.
      ({ losses, counter } = await retry(() => findLosses(sandbox, { ...expected, counter: undefined })));
      report.ended += 1;
    }
    report.losses.push(...losses.map((loss) => `${loss} after ${name}`));
    expected.counter = losses.length > 0 ? undefined : counter;
    return true;
  };

  /** Does an operation, reports each of its steps, and resolves with the error by which it failed, if it did. */
  const act = async (kind: string, onStep?: (step: Step) => void): Promise<SandboxError | undefined> => {
    const operation = operations[kind] as KillOperation;
    const stack = await keeper.current();
    try {
      const sandbox = await reach(stack, operation);
      if (operation.endsProcesses) sandbox.counter = undefined;
      const stop = onStep && watchSteps({ dataDir, helperPid: findHelper(stack) }, onStep);
      await operation.act(stack, sandbox).finally(stop);
      state = operation.to ?? 'running';
      return undefined;
    } catch (error) {
      if (error instanceof SandboxError) return error;
      throw error;
    }
  };

  /** Runs without a kill. */
  const requireNone = async (error: SandboxError | undefined, name: string): Promise<void> => {
    if (error === undefined) return;
    const stack = await keeper.current();
    const complaints = toComplaints(stack.log()).slice(-LAST);
    report.failures.push([`${name}: ${error.code} ${error.message}`, ...complaints].join('\n'));
    await check(stack, { name });
  };

  const strike = async ({ target, delayMs }: PlannedKill, pid: number | undefined): Promise<void> => {
    if (delayMs > 0) await delay(delayMs);
    if (target !== 'program') {
      count(report.killed, target);
      await keeper.kill(target);
    } else if (pid !== undefined) {
      count(report.killed, readProgram(pid));
      killProcess(pid);
    }
  };

  const kill = async (planned: PlannedKill): Promise<boolean> => {
    const { kind, target, at } = planned;
    const name = `${kind}, ${target} killed ${Math.round(planned.delayMs)} ms after ${at}`;
    let turn = 0;
    let killing: Promise<void> | undefined;
    const error = await act(kind, (shown) => {
      if (shown.isFirst) turn += 1;
      if (shown.name === at || (shown.isFirst && turn === at)) killing ??= strike(planned, shown.pid);
    });
    await killing;
    if (killing === undefined) {
      await requireNone(error, `${kind} without a kill`);
      return false;
    }
    count(report.outcomes, `${target}: ${error?.code ?? 'done'}`);
    const stack = await keeper.current();
    const {
      from,
      worksInside = false,
      isRepeated = from === 'running',
      settle,
    } = operations[kind] as KillOperation;
    await check(stack, { name, mayEnd: target === 'program' && worksInside });
    const wrong = (await settle?.(stack, dataDir)) ?? [];
    report.failures.push(...wrong.map((what) => `${what} after ${name}`));
    await removeRest(stack, name);
    // What was still paused was resumed by that look at it: the same operation once more.
    if (isRepeated && settle === undefined)
      await requireNone(await act(kind), `${kind} again, after ${name}`);
    return true;
  };

  return {
    observe: async (kind) => {
      const steps: Step[] = [];
      await requireNone(await act(kind, (step) => void steps.push(step)), `${kind} without a kill`);
      return steps;
    },
    kill,
    get state() {
      return state;
    },
    end: async () => {
      try {
        const stack = await keeper.current();
        await check(stack, { name: 'everything' });
        if (known) await Sandbox.kill(known.id, stack.connection);
        known = undefined;
        await removeRest(stack, 'everything');
        await stack.stop();
      } finally {
        // Also where something is wrong with the run itself.
        await (await keeper.current()).down();
      }
      const orphans = await findOrphans(dataDir, [...ids]);
      report.orphans.push(...orphans);
      if (orphans.length === 0) rmSync(dataDir, { recursive: true });
    },
  };
};

const SETTLE_MS = 10_000;
/** The most complaints of the server that belong to a failure. */
const LAST = 3;

/** The failure with what the server has said of the sandbox lately. */
const withLog = (what: string, stack: Stack, id: string): string => {
  const lines = stack.log().split('\n');
  return [what, ...lines.filter((line) => line.includes(id)).slice(-LAST)].join('\n');
};

const killProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The process has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
