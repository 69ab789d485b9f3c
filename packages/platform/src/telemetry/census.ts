import type { Hosts } from '../hosts/hosts.ts';
import type { NodeView } from '../hosts/node-list.ts';
import type { SandboxCount } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** The state of the service at one moment, for operators. */
export interface Census {
  /** The sandboxes for which this server acts, and how many they are. Without those that have ended. */
  sandboxes: SandboxCount[];
  /** All nodes, also those of other servers. */
  nodes: (NodeView & { isOwn: boolean })[];
  /** What is paused or captured on nodes, and not in the blob store; undefined without one. */
  missingCopies: number | undefined;
}

/** Rejects when the database cannot be read. */
export const takeCensus = async ({
  store,
  hosts,
}: {
  store: Pick<Store, 'countByState' | 'listMissingCopies'>;
  hosts: Pick<Hosts, 'nodes' | 'owns' | 'isBuilder' | 'copies'>;
}): Promise<Census> => {
  const { owns } = hosts;
  const [counts, views, missingCopies] = await Promise.all([
    store.countByState(),
    hosts.nodes.list(),
    hosts.copies && store.listMissingCopies(),
  ]);
  return {
    sandboxes: counts.filter(({ node }) => owns(node)),
    nodes: views.map((view) => ({ ...view, isOwn: owns(view.name) })),
    missingCopies: missingCopies?.filter((one) => (one.kind === 'image' ? hosts.isBuilder : owns(one.node)))
      .length,
  };
};
