import type { NodeView } from '../nodes/node-view.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** The state of the service at one moment, for operators. */
export interface Census {
  /** The sandboxes for which this server acts, and how many they are. Without those that have ended. */
  sandboxes: { node: string | null; state: SandboxState; count: number }[];
  /** All nodes, also those of other servers. */
  nodes: (NodeView & { isOwn: boolean })[];
  /** What is paused or captured on nodes, and not in the blob store; undefined without one. */
  unstored: number | undefined;
}

/** Rejects when the database cannot be read. */
export const takeCensus = async ({
  store,
  nodes,
  hasBlobs,
}: {
  store: Pick<Store, 'countByState' | 'listUnstored'>;
  nodes: Pick<Nodes, 'list' | 'owns' | 'isBuilder'> | undefined;
  hasBlobs: boolean;
}): Promise<Census> => {
  const owns = (node: string | null): boolean => nodes?.owns(node) ?? true;
  const [counts, views, unstored] = await Promise.all([
    store.countByState(),
    nodes?.list() ?? [],
    hasBlobs ? store.listUnstored() : undefined,
  ]);
  return {
    sandboxes: counts.filter(({ node }) => owns(node)),
    nodes: views.map((view) => ({ ...view, isOwn: owns(view.name) })),
    unstored: unstored?.filter((one) => (one.kind === 'image' ? nodes?.isBuilder : owns(one.node))).length,
  };
};
