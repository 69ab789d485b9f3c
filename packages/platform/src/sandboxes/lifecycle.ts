import type { Clock } from '../clock.ts';
import type { Expiry } from '../expiry.ts';
import { PAUSED_STATES, type SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Pauser } from './pauser.ts';
import type { Live } from './running-handles.ts';
import type { Terminator } from './terminator.ts';
import { explainMissing, isAlive, toMissingError } from './visible-state.ts';

/** Finds, kills and expires sandboxes. */
export interface Lifecycle {
  /** Rejects with `not_found` unless it is running or paused. */
  get(id: string): Promise<SandboxRow>;
  /**
   * Resolves when it is stopped; two concurrent calls both succeed. Rejects with `not_found` unless it is running or
   * paused.
   */
  kill(id: string): Promise<void>;
  /** Acts on an announced end: kills or pauses the sandbox unless its end was moved meanwhile. */
  expire(id: string): Promise<void>;
}

export interface LifecycleOptions {
  store: Store;
  live: Pick<Live, 'has'>;
  expiry: Pick<Expiry, 'schedule'>;
  terminator: Terminator;
  pauser: Pick<Pauser, 'pauseAtEnd'>;
  clock: Clock;
}

export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, live, expiry, terminator, pauser, clock } = options;
  return {
    get: async (id) => {
      const row = await store.findSandbox(id);
      if (row === undefined || !isAlive(row.state)) throw toMissingError(id, row, clock);
      return row;
    },
    kill: async (id) => {
      const row = await terminator.begin(id, 'killed', { from: ['running', ...PAUSED_STATES] });
      const finished = row === undefined ? terminator.current(id) : terminator.finish(row);
      if (finished === undefined) throw await explainMissing({ store, clock }, id);
      await finished;
    },
    expire: async (id) => {
      const { autoPause = null } = (await store.findSandbox(id)) ?? {};
      if (autoPause !== null) {
        await pauser.pauseAtEnd(id, autoPause);
        return;
      }
      const ended = await terminator.begin(id, 'expired', { from: ['running'], endAtMost: clock.now() });
      if (ended !== undefined) {
        await terminator.finish(ended);
        return;
      }
      const moved = await store.findSandbox(id);
      if (moved?.state === 'running' && live.has(id)) expiry.schedule(id, moved.endAt);
    },
  };
};
