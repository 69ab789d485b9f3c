import { conflict } from '@skerry/contract/error';
import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PauseKind, Store } from '../store/store.ts';
import type { Expiry } from './expiry.ts';
import type { Live } from './live.ts';
import type { Observation } from './observation.ts';
import { requirePause, toPauseError } from './pause-error.ts';
import type { Recovery } from './recovery.ts';
import { notRunning, toBusyError } from './running.ts';
import type { Transitions } from './transitions.ts';

/** From running to paused. */
export interface Pausing {
  /**
   * Resolves when the sandbox is on disk and nothing of it runs; joins a pause of the same kind that is under way. When it
   * rejects the sandbox runs on, with its connections reset. Rejects with `not_found`, with `conflict` when it is paused or
   * in another transition, and with `invalid_argument` when this host cannot keep what is asked for.
   */
  pause(id: string, kind: PauseKind): Promise<void>;
  /**
   * Acts on an end that was announced, unless it was moved meanwhile. A sandbox that cannot be paused runs on, and is tried
   * again every 30 s: ending it instead would lose what was to be kept. Never rejects.
   */
  pauseAtEnd(id: string, kind: PauseKind): Promise<void>;
}

export interface PausingOptions {
  store: Store;
  runtime: Runtime;
  live: Live;
  expiry: Expiry;
  recovery: Pick<Recovery, 'recover'>;
  transitions: Transitions;
  observation: Pick<Observation, 'fetched'>;
  clock: Clock;
  log: Log;
}

const RETRY_MS = 30_000;

export const createPausing = (options: PausingOptions): Pausing => {
  const { store, runtime, live, expiry, recovery, transitions, observation, clock, log } = options;

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
      const state = await recovery.recover(id);
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
    pauseAtEnd: async (id, kind) => {
      const current = transitions.current(id);
      // Whoever makes a snapshot of it knows nothing of its end.
      if (current?.kind === 'snapshot') await current.over;
      if (transitions.current(id) !== undefined) return;
      try {
        const due = { endAtMost: clock.now() };
        if (await transitions.run(id, `pause-${kind}`, () => capture(id, kind, due))) return;
        const moved = await store.findSandbox(id);
        if (moved?.state === 'running' && live.has(id)) expiry.schedule(id, moved.endAt);
      } catch (error) {
        log.error('a sandbox was not paused at its end and runs on', { sandboxId: id, error });
        expiry.cancel(id);
        expiry.schedule(id, clock.now() + RETRY_MS);
      }
    },
  };
};
