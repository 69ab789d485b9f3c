import { conflict } from '@skerry/contract/error';
import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PauseKind, SandboxState, Store } from '../store/store.ts';
import type { Ending } from './ending.ts';
import type { Expiry } from './expiry.ts';
import type { Live } from './live.ts';
import type { Observation } from './observation.ts';
import { isForWantOfRoom, requirePause, toPauseError } from './pause-error.ts';
import type { Recovery } from './recovery.ts';
import { isAlive, notRunning, toBusyError } from './running.ts';
import type { Transitions } from './transitions.ts';

/** From running to paused. */
export interface Pausing {
  /**
   * Resolves when the sandbox is on disk and nothing of it runs; joins a pause of the same kind that is under way. When it
   * rejects the sandbox runs on, with its connections reset, or has ended by the attempt. Rejects with `not_found`, with
   * `conflict` when it is paused or in another transition, and with `invalid_argument` when this host cannot keep what is
   * asked for.
   */
  pause(id: string, kind: PauseKind): Promise<void>;
  /**
   * Acts on an end that was announced, unless it was moved meanwhile. A sandbox that cannot be paused is tried again after
   * 30 s. Code inside can make every attempt fail, and is not to outlive its end by that: after three, the files alone are
   * to be kept, and when that fails too the sandbox ends as `expired`. On a host that is full, its files alone are kept
   * after a quarter of an hour, and it never ends for that: its owner may have no part in it. Never rejects.
   */
  pauseAtEnd(id: string, kind: PauseKind): Promise<void>;
}

export interface PausingOptions {
  store: Store;
  runtime: Runtime;
  live: Live;
  expiry: Expiry;
  recovery: Pick<Recovery, 'recover'>;
  ending: Pick<Ending, 'begin' | 'finish'>;
  transitions: Transitions;
  observation: Pick<Observation, 'fetched'>;
  clock: Clock;
  log: Log;
}

const RETRY_MS = 30_000;
/** What attempts may cost together before the files alone are kept. */
const PATIENCE = 30;
const FAILURE_COST = 10;
const NO_ROOM_COST = 1;

export const createPausing = (options: PausingOptions): Pausing => {
  const { store, runtime, live, expiry, recovery, ending, transitions, observation, clock, log } = options;
  /** What the attempts to pause each sandbox at the end that it has reached have cost. */
  const failures = new Map<string, number>();

  /** What cannot be brought to an end now stays `pausing`: the next round of `reconcile`, or who connects, tries again. */
  const recoverOrStay = async (id: string): Promise<SandboxState | undefined> => {
    try {
      return await recovery.recover(id);
    } catch (error) {
      log.error('a pause could not be brought to an end', { sandboxId: id, error });
      return (await store.findSandbox(id))?.state;
    }
  };

  /** Undefined when the row is not running, or not due where that is asked for. */
  const capture = async (id: string, kind: PauseKind, due: { endAtMost?: number }) => {
    const pausedAt = clock.now();
    const row = await store.changeState(id, {
      ...due,
      from: ['running'],
      to: 'pausing',
      set: { pausedAt, pausedWith: kind },
    });
    if (row === undefined) return undefined;
    expiry.cancel(id);
    // From here on nothing reaches it, and what was connected is reset: no connection survives a pause.
    live.remove(id);
    await observation.fetched(id);
    try {
      await (await runtime.get(id)).pause({ memory: kind === 'memory' });
    } catch (error) {
      // The pause may have got through all the same, where only the answer was lost.
      const state = await recoverOrStay(id);
      if (state !== 'paused') {
        log.error('sandbox could not be paused', { sandboxId: id, kind, state, error });
        throw toPauseError(error, state);
      }
    }
    await store.changeState(id, { from: ['pausing'], to: 'paused', set: { pausedAt: clock.now() } });
    log.info('sandbox paused', { sandboxId: id, kind, tookMs: clock.now() - pausedAt });
    return row;
  };

  const explain = async (id: string): Promise<Error> => {
    const row = await store.findSandbox(id);
    if (row?.state === 'paused') return conflict(`sandbox "${id}" is paused already`);
    return toBusyError(row) ?? notRunning(id);
  };

  const scheduleAgain = async (id: string): Promise<void> => {
    const moved = await store.findSandbox(id);
    if (moved?.state === 'running' && live.has(id)) expiry.schedule(id, moved.endAt);
  };

  const tryLater = async (id: string, error: unknown): Promise<void> => {
    log.error('a sandbox was not paused at its end and is tried again', { sandboxId: id, error });
    failures.set(id, (failures.get(id) ?? 0) + (isForWantOfRoom(error) ? NO_ROOM_COST : FAILURE_COST));
    expiry.cancel(id);
    expiry.schedule(id, clock.now() + RETRY_MS);
    // Of those that were killed meanwhile nobody asks again.
    for (const other of failures.keys()) {
      const row = await store.findSandbox(other);
      if (row === undefined || !isAlive(row.state)) failures.delete(other);
    }
  };

  const endInstead = async (id: string, error: unknown): Promise<void> => {
    const due = { from: ['running'], endAtMost: clock.now() } as const;
    if ((await ending.begin(id, 'expired', due)) === undefined) {
      await scheduleAgain(id);
      return;
    }
    failures.delete(id);
    log.error('a sandbox that cannot be paused at its end is ended', { sandboxId: id, error });
    await ending.finish(id);
  };

  return {
    pause: async (id, kind) => {
      const current = transitions.current(id);
      if (current?.kind === `pause-${kind}`) {
        await current.over;
        if ((await store.findSandbox(id))?.state === 'paused') return;
        throw toPauseError(
          new Error('the pause that was joined failed'),
          (await store.findSandbox(id))?.state,
        );
      }
      if (current !== undefined) throw conflict(`sandbox "${id}" is in another transition`);
      const paused = await transitions.run(id, `pause-${kind}`, async () => {
        if ((await store.findSandbox(id))?.state !== 'running') throw await explain(id);
        requirePause(runtime.features, kind, 'body.memory');
        return capture(id, kind, {});
      });
      if (paused === undefined) throw await explain(id);
    },
    pauseAtEnd: async (id, asked) => {
      // Whoever makes a snapshot of it, or compares its files, knows nothing of its end.
      for (let last = transitions.current(id); last?.kind === 'snapshot'; last = transitions.current(id)) {
        last.interrupt?.();
        await last.over;
      }
      if (transitions.current(id) !== undefined) return;
      const isLast = (failures.get(id) ?? 0) >= PATIENCE;
      const kind = isLast ? 'filesystem' : asked;
      try {
        const due = { endAtMost: clock.now() };
        const paused = await transitions.run(id, `pause-${kind}`, () => capture(id, kind, due));
        failures.delete(id);
        if (paused === undefined) await scheduleAgain(id);
        else if (kind !== asked)
          log.warn('only the files of a sandbox were kept at its end', { sandboxId: id });
      } catch (error) {
        await (isLast && !isForWantOfRoom(error) ? endInstead(id, error) : tryLater(id, error)).catch(
          (cause: unknown) =>
            log.error('the end of a sandbox could not be acted on', { sandboxId: id, error: cause }),
        );
      }
    },
  };
};
