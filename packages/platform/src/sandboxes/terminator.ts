import type { Instance } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Expiry } from '../expiry.ts';
import { findInstance, type Placed } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Log } from '../log.ts';
import type { EndCause, SandboxRow, StateChange } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Observation } from './observation.ts';
import { retryWhenLost } from './retry-when-lost.ts';
import type { Live } from './running-handles.ts';
import type { Transitions } from './transitions.ts';

/** Ends sandboxes: `killing` on disk, unreachable, stopped, `ended` on disk. Every sandbox ends through here. */
export interface Terminator {
  /**
   * Writes `killing` and the cause, and removes the sandbox from the directory. Returns undefined and changes nothing
   * when the row is not in an expected state. Call `finish` afterwards.
   */
  begin(id: string, cause: EndCause, when: EndCondition): Promise<SandboxRow | undefined>;
  /**
   * Stops what remains of a sandbox in state `killing` and closes its row; joins an end in progress. Never rejects: a
   * failure is logged, the row stays, and the next round of `reconcile` tries again.
   */
  finish(sandbox: Placed): Promise<void>;
  /** Closes the row of a sandbox in state `killing` without stopping what may remain of it: its node is forgotten. */
  abandon(id: string): Promise<void>;
  /** The end of this sandbox that is in progress, if any. */
  current(id: string): Promise<void> | undefined;
  /** The sandboxes that are being ended. */
  underWay(): string[];
  /** Resolves when no end is in progress. */
  settled(): Promise<void>;
}

export type EndCondition = Pick<StateChange, 'from' | 'endAtMost' | 'runId'>;

export interface TerminatorOptions {
  store: Store;
  hosts: Pick<Hosts, 'of'>;
  live: Live;
  transitions: Pick<Transitions, 'current' | 'idle'>;
  expiry: Pick<Expiry, 'cancel'>;
  observation: Pick<Observation, 'fetched'>;
  /** Called after each end. */
  onEnded?: (() => void) | undefined;
  clock: Clock;
  log: Log;
}

export const createTerminator = (options: TerminatorOptions): Terminator => {
  const { store, hosts, live, transitions, expiry, observation, clock, log } = options;
  const finishing = new Map<string, Promise<void>>();
  /** The instances that `begin` has taken from the directory. They spare a call to the runtime. */
  const taken = new Map<string, Instance>();

  const stop = async ({ id, node }: Placed): Promise<void> => {
    // A pause or resume in progress finds at its end that its row has changed. The runtime waits for a capture of the
    // sandbox as long as the capture needs it.
    const current = transitions.current(id);
    current?.interrupt?.();
    if (current?.kind !== 'snapshot') await transitions.idle(id);
    const found = taken.get(id) ?? findInstance(hosts, { id, node });
    const [instance] = await Promise.all([found, observation.fetched(id)]);
    await instance?.stop();
  };

  const close = async (sandbox: Placed): Promise<void> => {
    const { id } = sandbox;
    try {
      await retryWhenLost(() => stop(sandbox));
      const endedAt = clock.now();
      const row = await store.changeState(id, { from: ['killing'], to: 'ended', set: { endedAt } });
      if (row === undefined) return;
      log.info('sandbox ended', { sandboxId: id, cause: row.cause, ranMs: endedAt - row.startedAt });
    } catch (error) {
      log.error('sandbox could not be stopped; the next round retries', { sandboxId: id, error });
    }
  };

  return {
    begin: async (id, cause, when) => {
      const row = await store.changeState(id, { ...when, to: 'killing', set: { cause } });
      if (row === undefined) return undefined;
      expiry.cancel(id);
      const instance = live.remove(id);
      if (instance !== undefined) taken.set(id, instance);
      return row;
    },
    finish: (sandbox) => {
      const { id } = sandbox;
      const known = finishing.get(id);
      if (known !== undefined) return known;
      const finished = close(sandbox).finally(() => {
        finishing.delete(id);
        taken.delete(id);
        options.onEnded?.();
      });
      finishing.set(id, finished);
      return finished;
    },
    abandon: async (id) => {
      await store.changeState(id, { from: ['killing'], to: 'ended', set: { endedAt: clock.now() } });
      taken.delete(id);
    },
    current: (id) => finishing.get(id),
    underWay: () => [...finishing.keys()],
    settled: async () => {
      while (finishing.size > 0) await Promise.all(finishing.values());
    },
  };
};
