import type { Instance } from '@skerry/runtime';
import { OPEN_NETWORK } from '@skerry/runtime/network';
import type { Clock } from '../clock.ts';
import { findInstance } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { SandboxRow, SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Adopt } from './adopt.ts';
import { setUpAgent } from './agent.ts';
import type { Terminator } from './terminator.ts';

/** Completes or undoes interrupted transitions between running and paused. */
export interface Recovery {
  /**
   * Makes a row in state `pausing` or `resuming` agree with its instance: `paused` if that is paused, `running` if it
   * runs, `killing` if it is gone and not in the blob store. Resolves with the new state; a row in any other state is not changed. The caller
   * runs it as the sandbox's transition. Rejects when the runtime cannot answer; the row is then not changed.
   */
  recover(id: string): Promise<SandboxState | undefined>;
  /**
   * The last part of a resume: sets up the agent, makes the sandbox reachable and its row `running` until `endAt`.
   * Undefined when the row left the state `resuming` meanwhile.
   */
  finishResume(
    row: SandboxRow,
    instance: Instance,
    toEndAt: (startedAt: number) => number,
  ): Promise<SandboxRow | undefined>;
}

export interface RecoveryOptions {
  store: Store;
  hosts: Pick<Hosts, 'of'>;
  terminator: Terminator;
  adopt: Adopt;
  clock: Clock;
  log: Log;
  /** Whether the present pause of a sandbox is in the blob store. */
  hasBlobCopy?: ((row: SandboxRow) => Promise<boolean>) | undefined;
  limits: Pick<Limits, 'startTimeoutMs'>;
  secret: string;
}

const RUNS = { pausedAt: null, pausedWith: null };

export const createRecovery = (options: RecoveryOptions): Recovery => {
  const { store, hosts, terminator, adopt, hasBlobCopy, clock, log, limits, secret } = options;

  const finishResume: Recovery['finishResume'] = async (row, instance, toEndAt) => {
    // Changed just before a pause by a server that was killed.
    if (row.networkPending) {
      await instance.setNetwork(row.network ?? OPEN_NETWORK);
      await store.confirmNetwork(row.id);
    }
    await setUpAgent(instance, row, { secret, clock, signal: AbortSignal.timeout(limits.startTimeoutMs) });
    const startedAt = clock.now();
    const resumed = await store.changeState(row.id, {
      from: ['resuming'],
      to: 'running',
      set: {
        ...RUNS,
        runId: instance.runId,
        isolation: instance.isolation,
        startedAt,
        endAt: toEndAt(startedAt),
        timeToLiveMs: row.timeToLiveMs,
      },
    });
    if (resumed !== undefined) adopt(resumed, instance);
    return resumed;
  };

  /** Pauses a sandbox again that runs, but whose agent cannot be set up: it must stay unreachable. */
  const pauseAgain = async (row: SandboxRow, instance: Instance): Promise<void> => {
    await instance.pause({ memory: row.pausedWith === 'memory' });
    // Another time of the pause: a copy of the former one lacks what has run since.
    await store.changeState(row.id, { from: ['resuming'], to: 'paused', set: { pausedAt: clock.now() } });
  };

  const keepRunning = async (row: SandboxRow, instance: Instance): Promise<void> => {
    if (row.state === 'pausing') {
      const running = await store.changeState(row.id, { from: ['pausing'], to: 'running', set: RUNS });
      if (running !== undefined) adopt(running, instance);
      return;
    }
    try {
      await finishResume(row, instance, () => row.endAt);
    } catch (error) {
      log.warn('a resumed sandbox is paused again: its agent cannot be set up', { sandboxId: row.id, error });
      await pauseAgain(row, instance);
    }
  };

  return {
    finishResume,
    recover: async (id) => {
      const row = await store.findSandbox(id);
      if (row?.state !== 'pausing' && row?.state !== 'resuming') return row?.state;
      const instance = await findInstance(hosts, row);
      const found = instance === undefined ? 'stopped' : await instance.state();
      if (instance === undefined || found === 'stopped') {
        if (row.state === 'resuming' && (await hasBlobCopy?.(row)))
          await store.changeState(id, { from: ['resuming'], to: 'paused' });
        else if (await terminator.begin(id, 'lost', { from: [row.state] })) void terminator.finish(row);
      } else if (found === 'paused') {
        // After an interrupted pause the instance is paused too, but not yet safe on disk; after a complete one this
        // resolves at once.
        await instance.pause({ memory: row.pausedWith === 'memory' });
        await store.changeState(id, { from: [row.state], to: 'paused' });
      } else {
        await keepRunning(row, instance);
      }
      const state = (await store.findSandbox(id))?.state;
      log.info('an interrupted transition was completed', { sandboxId: id, from: row.state, to: state });
      return state;
    },
  };
};
