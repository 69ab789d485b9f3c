import type { InstanceOrigin } from '@skerry/runtime';
import type { Copies } from '../nodes/copies.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SnapshotRow, Store } from '../store/store.ts';

/** Snapshots that sandboxes begin with, on other nodes than where they were made. */
export interface StoredOrigins {
  /** The only node where a sandbox can begin with a snapshot; null: any, as the blob store has it, and its node takes no sandboxes. */
  homeOf(snapshot: SnapshotRow): Promise<string | null>;
  /**
   * Resolves when the node of a reserved sandbox has the snapshot that it begins with, which is there from then on. Rejects with
   * `NodeUnreachableError` and `RuntimeError`.
   */
  bring(sandboxId: string, origin: InstanceOrigin, options: { signal: AbortSignal }): Promise<void>;
}

export const createStoredOrigins = ({
  store,
  copies,
  nodes,
  rootfsOf,
}: {
  store: Store;
  copies: Pick<Copies, 'fetch'>;
  nodes: Pick<Nodes, 'canReach' | 'isCordoned'>;
  rootfsOf: (row: { buildId: string | null }) => Promise<string>;
}): StoredOrigins => {
  const bringing = new Map<string, Promise<void>>();

  const bringTo = async (node: string, snapshot: SnapshotRow, signal: AbortSignal): Promise<void> => {
    const copy = await store.findStored({ snapshotId: snapshot.id });
    // Without one the create reports the node that has it.
    if (copy === undefined) return;
    const adopt = () => store.moveSnapshot(snapshot.id, node);
    await copies.fetch(node, { ...copy, rootfs: await rootfsOf(snapshot) }, { signal, adopt });
  };

  return {
    homeOf: async (snapshot) => {
      const { node, id } = snapshot;
      if (node === null || (nodes.canReach(node) && !nodes.isCordoned(node))) return node;
      return (await store.findStored({ snapshotId: id })) === undefined ? node : null;
    },
    bring: async (sandboxId, origin, { signal }) => {
      if (!('snapshot' in origin)) return;
      const id = origin.snapshot;
      // One at a time: a second create finds it where the first has brought it, or takes it on.
      while (bringing.has(id)) await bringing.get(id);
      const [snapshot, sandbox] = [await store.findSnapshotRow(id), await store.findSandbox(sandboxId)];
      const node = sandbox?.node ?? null;
      if (snapshot?.state !== 'ready' || node === null || snapshot.node === node) return;
      const brought = bringTo(node, snapshot, signal).finally(() => bringing.delete(id));
      // This caller receives the rejection below. Those that wait look again, and then try it themselves.
      bringing.set(
        id,
        brought.catch(() => undefined),
      );
      await brought;
    },
  };
};
