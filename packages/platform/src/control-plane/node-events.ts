import type { Copier } from '../blob-copies/copier.ts';
import type { Drainer } from '../blob-copies/drainer.ts';
import type { Expiry } from '../expiry.ts';
import type { Hosts, HostsHooks } from '../hosts/hosts.ts';
import type { Creator } from '../sandboxes/create/creator.ts';
import type { Observation } from '../sandboxes/observation.ts';
import type { Reconcile } from '../sandboxes/reconcile.ts';
import type { Live } from '../sandboxes/running-handles.ts';
import type { Terminator } from '../sandboxes/terminator.ts';
import type { Transitions } from '../sandboxes/transitions.ts';
import { ALIVE_STATES, ALL_STATES, type SandboxRow, type SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { TemplateBuilder } from '../templates/template-builder.ts';
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
  creator: Pick<Creator, 'underWay'>;
  transitions: Transitions;
  terminator: Terminator;
  reconcile: Reconcile;
  rounds: Pick<Rounds, 'runNow'>;
  observation: Pick<Observation, 'end'>;
  templateBuilder: Pick<TemplateBuilder, 'isBusy'>;
  warm: Pick<WarmPools, 'open' | 'leave' | 'adjustSoon'>;
  remote: Pick<RemoteRoutes, 'follow' | 'check'>;
  copier: Copier | undefined;
  drainer: Drainer | undefined;
  /** Whether the present pause of a sandbox is in the blob store. */
  hasBlobCopy(row: SandboxRow): Promise<boolean>;
}

export const createNodeEvents = (options: NodeEventsOptions): NodeEvents => {
  const { store, hosts, live, expiry, creator, transitions, terminator, reconcile } = options;
  const { rounds, observation, templateBuilder, warm, remote, copier, drainer, hasBlobCopy } = options;

  /** Ends the sandboxes on a node that are in one of these states, as `lost`; resolves with all that are being ended there. */
  const endOnNode = async (node: string, states: readonly SandboxState[]): Promise<string[]> => {
    const rows = await store.listSandboxes({ states: [...states, 'killing'], order: 'asc', nodes: [node] });
    for (const { id, state } of rows)
      if (state !== 'killing') await terminator.begin(id, 'lost', { from: states });
    return rows.map(({ id }) => id);
  };

  return {
    settle: async (node) => {
      await rounds.runNow();
      await reconcile.settled();
      await terminator.settled();
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
        if (transitions.current(row.id) === undefined && (await hasBlobCopy(row)))
          await store.changeState(row.id, { from: ['resuming'], to: 'paused' });
    },
    abandon: async (node) => {
      warm.leave(node);
      for (const id of await endOnNode(node, ALIVE_STATES)) await terminator.abandon(id);
    },
    leave: (node) => {
      warm.leave(node);
      copier?.leave(node);
      for (const { id, runId } of live.leave(node)) {
        expiry.cancel(id);
        observation.end(id);
        remote.follow(id, runId);
      }
    },
    isIdle: async (node) => {
      if (templateBuilder.isBusy() || copier?.isBusyOn(node) || drainer?.isBusyOn(node)) return false;
      const ids = [...creator.underWay(), ...transitions.underWay(), ...terminator.underWay()];
      if (ids.length === 0) return true;
      return (await store.countSandboxes({ states: ALL_STATES, ids, nodes: [node] })) === 0;
    },
    check: async () => {
      // Copies of sandboxes that other servers have ended may be left in the blob store.
      if (hosts.isBuilder) copier?.soon();
      await remote.check();
    },
    onCordon: () => warm.adjustSoon(),
  };
};
