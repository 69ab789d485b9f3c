import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import { toComplaints } from './complaints.ts';
import { type Content, findLosses, startCounter } from './kept-content.ts';
import {
  create,
  createFromSnapshot,
  deleteSnapshot,
  deleteUnused,
  endSandbox,
  findSandbox,
  type KnownSandbox,
  operations,
  type Target,
  type World,
} from './operations.ts';

/** Where operations go, and its log. */
export interface LoggedTarget extends Target {
  /** Returns a function that returns what was logged since. */
  watchLog(): () => string;
}

/** What the operations are done with, and what is known of the faults that are injected into it. */
export interface FaultySubject {
  /** Where operations go now. May wait for the end of a fault. */
  current(): Promise<LoggedTarget>;
  /** Returns a function that says whether a fault may have cut off what began with this call. */
  watchFaults(): () => boolean;
}

export interface OperationReport {
  /** How many of each kind were acknowledged, and how many a fault cut off. */
  done: Record<string, number>;
  cutOff: Record<string, number>;
  /** Sandboxes and snapshots whose content was compared with what is known of it. */
  checks: number;
  /** What a fault kept from being acknowledged and was there nevertheless. */
  unacknowledged: number;
  /** Operations that failed although there was no fault, each with the errors that were logged meanwhile. */
  failures: { what: string; log: string[] }[];
  losses: string[];
}

export interface OperationRunOptions {
  subject: FaultySubject;
  random: () => number;
  /** About how many sandboxes there are. */
  sandboxCount: number;
  /** How many operations are under way at the same time. */
  lanes: number;
}

/** Random operations, and what is known of all that they have made. */
export interface OperationRun {
  readonly report: OperationReport;
  /** Does operations until that time, and until `leastOperations` are done. */
  run(until: { atMs: number; leastOperations: number }): Promise<void>;
  /** Resolves when no operation is under way. None begins until the returned function is called. */
  hold(): Promise<() => void>;
  /** Every sandbox without a running operation is in the state in which it was left. */
  compareStates(target: Target): Promise<void>;
  /** Removes what no operation knows. */
  removeStrays(target: Target): Promise<void>;
  /** Compares all that was acknowledged with what is there, and removes it. Call it after the run and the faults. */
  finish(): Promise<void>;
}

/** Returns a function that returns what was logged since. */
export const watchLog = (log: () => string): (() => string) => {
  const { length } = log();
  return () => log().slice(length);
};

const MAX_SNAPSHOTS = 8;
const SETTLE_MS = 20_000;
const LOG_MS = 200;

/**
 * Does random things to sandboxes while faults are injected. Order and timing of what many do at once are not the seed's: one seed
 * gives similar runs, not equal ones.
 */
export const createOperationRun = (options: OperationRunOptions): OperationRun => {
  const { subject, random, sandboxCount, lanes } = options;
  const report: OperationReport = {
    done: {},
    cutOff: {},
    checks: 0,
    unacknowledged: 0,
    failures: [],
    losses: [],
  };
  const sandboxes: World['sandboxes'] = new Map();
  const knownSnapshots: World['snapshots'] = new Map();
  const ended: World['ended'] = new Set();
  const busy = new Set<string>();
  let held: Promise<void> | undefined;
  const underWay = new Set<Promise<void>>();

  const count = (into: Record<string, number>, name: string): void => {
    into[name] = (into[name] ?? 0) + 1;
  };
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];

  const removeStrays = async (target: Target): Promise<void> => {
    for await (const { sandboxId } of Sandbox.list(target.connection)) {
      if (sandboxes.has(sandboxId)) continue;
      if (ended.has(sandboxId)) report.losses.push(`the end of ${sandboxId}`);
      else report.unacknowledged += 1;
      await Sandbox.kill(sandboxId, target.connection);
    }
    for await (const { snapshotId } of snapshots.list(target.connection)) {
      if (knownSnapshots.has(snapshotId)) continue;
      if (await deleteUnused(target, snapshotId)) report.unacknowledged += 1;
    }
  };

  const compareStates = async ({ connection }: Target): Promise<void> => {
    const states = new Map<string, string>();
    for await (const { sandboxId, state } of Sandbox.list(connection)) states.set(sandboxId, state);
    for (const { id, state } of sandboxes.values()) {
      if (!busy.has(id) && states.get(id) !== state)
        report.losses.push(`${id} was ${state} and is ${states.get(id)}`);
    }
  };

  const check = async (target: Target, known: KnownSandbox, content: Content = known): Promise<void> => {
    const sandbox = await findSandbox(target, known.id);
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

  /** After an operation that a fault cut off: it was done, or it was not, and nothing else. */
  const settle = async (kind: string, known: KnownSandbox): Promise<void> => {
    const target = await subject.current();
    if (kind.startsWith('kill')) {
      await endSandbox({ target, sandboxes, ended }, known);
      return;
    }
    // The processes were to end, and may have.
    const mayEnd = kind === 'pause files only';
    await check(target, known, mayEnd ? { ...known, counter: undefined } : known);
  };

  const isCut = (error: unknown, wasFaulty: () => boolean): boolean => {
    if (!(error instanceof SandboxError)) throw error;
    return wasFaulty();
  };

  /** What a fault has left may answer with an error for a moment; then everything is there. */
  const settleSoon = async (kind: string, known: KnownSandbox): Promise<void> => {
    let wasFaulty = subject.watchFaults();
    for (let deadline = performance.now() + SETTLE_MS; ; await delay(100)) {
      try {
        await settle(kind, known);
        return;
      } catch (error) {
        const wasCut = isCut(error, wasFaulty);
        wasFaulty = subject.watchFaults();
        if (wasCut) deadline = performance.now() + SETTLE_MS;
        else if (performance.now() > deadline) {
          report.losses.push(`${known.id} cannot be used after ${kind}: ${(error as Error).message}`);
          return;
        }
      }
    }
  };

  /** Does one thing, on a sandbox of its own or none, and again what a fault cut off. */
  const attempt = async (
    kind: string,
    known: KnownSandbox | undefined,
    act: (world: World) => Promise<unknown>,
  ): Promise<void> => {
    if (known) busy.add(known.id);
    const target = await subject.current();
    const wasFaulty = subject.watchFaults();
    const readLog = target.watchLog();
    try {
      if (
        (await act({
          target,
          sandboxes,
          snapshots: knownSnapshots,
          ended,
          busy,
          losses: report.losses,
          random,
        })) !== false
      )
        count(report.done, kind);
    } catch (error) {
      const cut = isCut(error, wasFaulty);
      if (cut) count(report.cutOff, kind);
      else {
        const what = `${kind} ${known?.id}: ${(error as SandboxError).code} ${(error as Error).message}`;
        // What was logged before the answer may be read after it.
        await delay(LOG_MS);
        report.failures.push({ what, log: toComplaints(readLog()) });
      }
      if (known) await settleSoon(kind, known);
    } finally {
      if (known) busy.delete(known.id);
    }
  };

  const chooseSandbox = (state: KnownSandbox['state']): KnownSandbox | undefined =>
    pick([...sandboxes.values()].filter((known) => known.state === state && !busy.has(known.id)));

  const step = async (): Promise<void> => {
    const snapshot = pick([...knownSnapshots.values()]);
    if (random() < (sandboxes.size < sandboxCount ? 0.3 : 0)) {
      if (snapshot && random() < 0.3)
        return attempt('create from a snapshot', undefined, (world) => createFromSnapshot(world, snapshot));
      return attempt('create', undefined, create);
    }
    if (snapshot && knownSnapshots.size > MAX_SNAPSHOTS)
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

  return {
    report,
    compareStates,
    removeStrays,
    run: async ({ atMs, leastOperations }) => {
      const lane = async (): Promise<void> => {
        while (performance.now() < atMs || doneCount() < leastOperations) {
          await held;
          const one = step();
          underWay.add(one);
          await one.finally(() => underWay.delete(one));
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
    },
    hold: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      await Promise.all(underWay);
      return resolve;
    },
    finish: async () => {
      const target = await subject.current();
      await compareStates(target);
      for (const known of [...sandboxes.values()]) await attempt('check', known, () => check(target, known));
      for (const { id } of knownSnapshots.values()) {
        const damage = await snapshots.verify(id, target.connection).catch((error: Error) => [error.message]);
        report.losses.push(...damage.map((loss) => `snapshot ${id}: ${loss}`));
        report.checks += 1;
      }
      sandboxes.clear();
      knownSnapshots.clear();
      const { unacknowledged } = report;
      await removeStrays(target);
      report.unacknowledged = unacknowledged;
    },
  };
};
