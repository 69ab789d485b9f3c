import type { IsolationLevel } from '@skerry/contract/isolation';
import type { StackOptions } from '../stack/stack.ts';
import { createBuildOperations } from './kills/build-operations.ts';
import { chooseMoments } from './kills/choose-moments.ts';
import { createKillLane, type KillLane, type PlannedKill } from './kills/kill-lane.ts';
import { createKillOperations } from './kills/kill-operations.ts';
import { createKillReport, type KillReport } from './kills/kill-report.ts';
import { toArgs } from './level.ts';
import { createRandom } from './random.ts';

/** What the operations of a run are on. */
export const killSubjects = ['sandboxes', 'builds'] as const;
export type KillSubject = (typeof killSubjects)[number];

export interface KillRunOptions {
  seed: number;
  level?: IsolationLevel;
  /** Besides what it takes to see the steps. */
  durationMs: number;
  /** Default: all. */
  subjects?: readonly KillSubject[];
  /** How many servers, each with a sandbox, are killed at the same time. */
  lanes: number;
  /** Called with what there is after each kill. */
  onProgress?: (report: KillReport) => void;
}

/** The longest delay of a kill after its step. A program goes through many steps that do not show from outside. */
const MAX_DELAY_MS = { step: 15, program: 80 };
const PROGRAM_TURNS = 8;

interface Planned extends PlannedKill {
  /** The turn of the step, where there is one. */
  turn?: number;
  order: number;
}

/**
 * Kills server, helper, or a program that the helper has started, at each moment of each operation at which something shows
 * from outside, and looks whether all is as it should be after each. Goes through them in an order of the seed's until the
 * time is over and one was at its moment, or none is left.
 */
export const runKills = async (options: KillRunOptions): Promise<KillReport> => {
  const { seed, level = 'container', durationMs, onProgress, subjects = killSubjects } = options;
  const random = createRandom(seed);
  const report = createKillReport();
  await using builds = subjects.includes('builds') ? await createBuildOperations() : undefined;
  const operations = {
    ...(subjects.includes('sandboxes') && createKillOperations(level)),
    ...builds?.operations,
  };
  const server: StackOptions = { args: [...toArgs(level), ...(builds?.args ?? [])] };
  const lanes: KillLane[] = [];

  const plan = async (lane: KillLane): Promise<Planned[]> => {
    const planned: Planned[] = [];
    for (const kind of Object.keys(operations)) {
      const steps = await lane.observe(kind);
      const moments = chooseMoments(steps);
      const programs = steps.filter(({ pid }) => pid !== undefined).map(({ name }) => name);
      report.moments[kind] = moments.length;
      const toDelayMs = (most: number): number => (random() < 0.5 ? 0 : random() * most);
      for (const target of ['server', 'helper'] as const) {
        for (const { step: at, turn } of moments) {
          const delayMs = toDelayMs(MAX_DELAY_MS.step);
          planned.push({ kind, target, at, delayMs, turn, order: random() });
        }
      }
      for (let turn = 0; turn < PROGRAM_TURNS; turn += 1) {
        for (const at of programs)
          planned.push({
            kind,
            target: 'program',
            at,
            delayMs: toDelayMs(MAX_DELAY_MS.program),
            order: random(),
          });
      }
    }
    report.planned = planned.length;
    return planned.toSorted((one, other) => one.order - other.order);
  };

  const work = async (lane: KillLane, left: Planned[], untilMs: number): Promise<void> => {
    while (performance.now() < untilMs || report.kills === 0) {
      // The first that can begin as the sandbox is, or else the very first.
      const fit = left.findIndex(({ kind }) => operations[kind]?.from === lane.state);
      const [kill] = left.splice(Math.max(fit, 0), 1);
      if (kill === undefined) return;
      const { turn: at = kill.at } = kill;
      if ((await lane.kill(kill)) || (await lane.kill({ ...kill, at }))) report.kills += 1;
      else report.missed.push(`${kill.kind}, ${kill.target} at ${kill.at}`);
      onProgress?.(report);
    }
  };

  try {
    const add = async (): Promise<KillLane> => {
      const lane = await createKillLane({ operations, report, server });
      lanes.push(lane);
      return lane;
    };
    const first = await add();
    const left = await plan(first);
    const untilMs = performance.now() + durationMs;
    const others = Array.from({ length: options.lanes - 1 }, async () => work(await add(), left, untilMs));
    const works = [work(first, left, untilMs), ...others].map((one) =>
      one.catch((error: unknown) => {
        left.length = 0; // No lane continues without the others.
        throw error;
      }),
    );
    await Promise.allSettled(works);
    await Promise.all(works);
  } finally {
    await Promise.all(lanes.map((lane) => lane.end()));
  }
  return report;
};
