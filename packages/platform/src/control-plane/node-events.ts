import type { Expiry } from '../expiry.ts';
import type { Hosts, HostsHooks } from '../hosts/hosts.ts';
import type { Creating } from '../sandboxes/create/creating.ts';
import type { Ending } from '../sandboxes/ending.ts';
import type { Observation } from '../sandboxes/observation.ts';
import type { Reconcile } from '../sandboxes/reconcile.ts';
import type { Live } from '../sandboxes/running-handles.ts';
import type { Transitions } from '../sandboxes/transitions.ts';
import { ALIVE_STATES, ALL_STATES, type SandboxRow, type SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Draining } from '../stored/draining.ts';
import type { Storing } from '../stored/storing.ts';
import type { Building } from '../templates/building.ts';
import type { WarmPools } from '../warm/warm-pools.ts';
import type { RemoteRoutes } from './remote-routes.ts';
import type { Rounds } from './rounds.ts';

/** What happens to sandboxes when hosts come and go. */
export interface NodeEvents extends HostsHooks {
  /** Closes all that is on a node that does not come back, also what is paused. */
  abandon(node: string): Promise<void>;
}

export interface NodeEventsOptions {
  store: Store;
  hosts: Pick<Hosts, 'isBuilder'>;
  live: Live;
  expiry: Pick<Expiry, 'cancel'>;
  creating: Pick<Creating, 'underWay'>;
  transitions: Transitions;
  ending: Ending;
  reconcile: Reconcile;
  rounds: Pick<Rounds, 'runNow'>;
  observation: Pick<Observation, 'end'>;
  building: Pick<Building, 'isBusy'>;
  warm: Pick<WarmPools, 'open' | 'leave' | 'adjustSoon'>;
  remote: Pick<RemoteRoutes, 'follow' | 'check'>;
  storing: Storing | undefined;
  draining: Draining | undefined;
  /** Whether the present pause of a sandbox is in the blob store. */
  isStored(row: SandboxRow): Promise<boolean>;
}

export const createNodeEvents = (options: NodeEventsOptions): NodeEvents => {
  const { store, hosts, live, expiry, creating, transitions, ending, reconcile } = options;
  const { rounds, observation, building, warm, remote, storing, draining, isStored } = options;

  /** Ends the sandboxes on a node that are in one of these states, as `lost`; resolves with all that are being ended there. */
  const endOnNode = async (node: string, states: readonly SandboxState[]): Promise<string[]> => {
    const rows = await store.listSandboxes({ states: [...states, 'killing'], order: 'asc', nodes: [node] });
    for (const { id, state } of rows)
      if (state !== 'killing') await ending.begin(id, 'lost', { from: states });
    return rows.map(({ id }) => id);
  };

  return {
    settle: async (node) => {
      await rounds.runNow();
      await reconcile.settled();
      await ending.settled();
      const left = await store.listSandboxes({ states: ['killing'], order: 'asc', nodes: [node] });
      const moved = await reconcile.listMoved(node);
      const count = left.length + moved.length;
      if (count > 0) throw new Error(`${count} sandboxes on node "${node}" could not be stopped`);
      await warm.open(node);
    },
    lose: async (node) => {
      await endOnNode(node, ['running']);
      // No caller knows whether such a sandbox runs. Its stored pause counts, so another node can resume it.
      for (const row of await store.listSandboxes({ states: ['resuming'], order: 'asc', nodes: [node] }))
        if (transitions.current(row.id) === undefined && (await isStored(row)))
          await store.changeState(row.id, { from: ['resuming'], to: 'paused' });
    },
    abandon: async (node) => {
      warm.leave(node);
      for (const id of await endOnNode(node, ALIVE_STATES)) await ending.abandon(id);
    },
    leave: (node) => {
      warm.leave(node);
      storing?.leave(node);
      for (const { id, runId } of live.leave(node)) {
        expiry.cancel(id);
        observation.end(id);
        remote.follow(id, runId);
      }
    },
    isIdle: async (node) => {
      if (building.isBusy() || storing?.isBusyOn(node) || draining?.isBusyOn(node)) return false;
      const ids = [...creating.underWay(), ...transitions.underWay(), ...ending.underWay()];
      if (ids.length === 0) return true;
      return (await store.countSandboxes({ states: ALL_STATES, ids, nodes: [node] })) === 0;
    },
    check: async () => {
      // Copies of sandboxes that other servers have ended may be left in the blob store.
      if (hosts.isBuilder) storing?.soon();
      await remote.check();
    },
    onCordon: () => warm.adjustSoon(),
  };
};
