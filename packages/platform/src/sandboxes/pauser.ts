import { conflict } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import type { Expiry } from '../expiry.ts';
import { getInstance } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Log } from '../log.ts';
import type { PauseKind, SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { keptAt } from './kept-at.ts';
import type { Observation } from './observation.ts';
import { isForWantOfRoom, requirePause, toPauseError } from './pause-error.ts';
import type { Recovery } from './recovery.ts';
import type { Live } from './running-handles.ts';
import type { Terminator } from './terminator.ts';
import type { Transitions } from './transitions.ts';
import { isAlive, toBusyError, toMissingError } from './visible-state.ts';

/** Moves sandboxes from running to paused. */
export interface Pauser {
  /**
   * Resolves when the sandbox is on disk and no process of it runs; joins a pause of the same kind in progress. When
   * it rejects, the sandbox is still running, with its connections reset, or the attempt has ended it. Rejects with
   * `not_found`, with `conflict` when it is paused or in another transition, and with `invalid_argument` when this
   * host cannot keep what was requested.
   */
  pause(id: string, kind: PauseKind): Promise<void>;
  /**
   * Acts on an announced end, unless it was moved meanwhile. A sandbox that cannot be paused is retried after 30 s.
   * Code inside can make every attempt fail, and must not extend its life in this way: after three attempts only the
   * files are kept, and when that fails too the sandbox ends as `expired`. On a full host, only the files are kept
   * after a quarter of an hour, and the sandbox is never ended for that reason: its owner may not be the cause. Never
   * rejects.
   */
  pauseAtEnd(id: string, kind: PauseKind): Promise<void>;
}

export interface PauserOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'features'>;
  live: Live;
  expiry: Expiry;
  recovery: Pick<Recovery, 'recover'>;
  terminator: Pick<Terminator, 'begin' | 'finish'>;
  transitions: Transitions;
  observation: Pick<Observation, 'fetched'>;
  clock: Clock;
  log: Log;
}

const RETRY_MS = 30_000;
/** The total cost of attempts after which only the files are kept. */
const PATIENCE = 30;
const FAILURE_COST = 10;
const NO_ROOM_COST = 1;

export const createPauser = (options: PauserOptions): Pauser => {
  const { store, hosts, live, expiry, recovery, terminator, transitions, observation, clock, log } = options;
  /** The cost so far of the attempts to pause each sandbox at its present end. */
  const failures = new Map<string, number>();

  /** A pause that cannot be completed now stays `pausing`: the next round of `reconcile`, or a connect, tries again. */
  const recoverOrStay = async (id: string): Promise<SandboxState | undefined> => {
    try {
      return await recovery.recover(id);
    } catch (error) {
      log.error('a pause could not be completed', { sandboxId: id, error });
      return (await store.findSandbox(id))?.state;
    }
  };

  /** Undefined when the row is not running, or is required to be due and is not. */
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
    // From here on the sandbox is unreachable, and its connections are reset: no connection survives a pause.
    live.remove(id);
    await observation.fetched(id);
    try {
      await (await getInstance(hosts, row)).pause({ memory: kind === 'memory' });
    } catch (error) {
      // The pause may have succeeded although the response was lost.
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
    if (row?.state === 'paused') return conflict(`sandbox "${id}" is already paused`);
    return toBusyError(row) ?? toMissingError(id, row, clock);
  };

  const scheduleAgain = async (id: string): Promise<void> => {
    const moved = await store.findSandbox(id);
    if (moved?.state === 'running' && live.has(id)) expiry.schedule(id, moved.endAt);
  };

  const tryLater = async (id: string, error: unknown): Promise<void> => {
    log.error('a sandbox was not paused at its end; the pause will be retried', { sandboxId: id, error });
    failures.set(id, (failures.get(id) ?? 0) + (isForWantOfRoom(error) ? NO_ROOM_COST : FAILURE_COST));
    expiry.cancel(id);
    expiry.schedule(id, clock.now() + RETRY_MS);
    // Sandboxes that were killed meanwhile never ask again.
    for (const other of failures.keys()) {
      const row = await store.findSandbox(other);
      if (row === undefined || !isAlive(row.state)) failures.delete(other);
    }
  };

  const endInstead = async (id: string, error: unknown): Promise<void> => {
    const due = { from: ['running'], endAtMost: clock.now() } as const;
    const ended = await terminator.begin(id, 'expired', due);
    if (ended === undefined) {
      await scheduleAgain(id);
      return;
    }
    failures.delete(id);
    log.error('a sandbox that cannot be paused at its end is ended', { sandboxId: id, error });
    await terminator.finish(ended);
  };

  return {
    pause: async (id, kind) => {
      const current = transitions.current(id);
      if (current?.kind === `pause-${kind}`) {
        await current.result;
        if ((await store.findSandbox(id))?.state === 'paused') return;
        throw toPauseError(
          new Error('the pause that was joined failed'),
          (await store.findSandbox(id))?.state,
        );
      }
      if (current !== undefined) throw conflict(`sandbox "${id}" is busy with another operation`);
      const paused = await transitions.run(id, `pause-${kind}`, async () => {
        const row = await store.findSandbox(id);
        if (row?.state !== 'running') throw await explain(id);
        requirePause(keptAt(hosts.features, row.isolation), kind, 'body.memory');
        return capture(id, kind, {});
      });
      if (paused === undefined) throw await explain(id);
    },
    pauseAtEnd: async (id, asked) => {
      // A snapshot, a comparison of its files or a change of its network does not act on its end.
      let last = transitions.current(id);
      while (last?.kind === 'snapshot' || last?.kind === 'network') {
        last.interrupt?.();
        await last.over;
        last = transitions.current(id);
      }
      if (transitions.current(id) !== undefined) return;
      const isLast = (failures.get(id) ?? 0) >= PATIENCE;
      const kind = isLast ? 'filesystem' : asked;
      try {
        const due = { endAtMost: clock.now() };
        const paused = await transitions.run(id, `pause-${kind}`, () => capture(id, kind, due));
        failures.delete(id);
        if (paused === undefined) await scheduleAgain(id);
        else if (kind !== asked) log.warn('expiry kept only the files of a sandbox', { sandboxId: id });
      } catch (error) {
        await (isLast && !isForWantOfRoom(error) ? endInstead(id, error) : tryLater(id, error)).catch(
          (cause: unknown) => log.error('the expiry of a sandbox failed', { sandboxId: id, error: cause }),
        );
      }
    },
  };
};
