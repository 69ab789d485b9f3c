import type { InstanceOrigin } from '@skerry/runtime';
import type { Copies } from '../nodes/copies.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SnapshotRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** Snapshots that sandboxes begin with, on other nodes than where they were made. */
export interface StoredOrigins {
  /**
   * The only node where a sandbox can begin with a snapshot; null: any, as the blob store has it, and its node takes no sandboxes. For a call
   * that another server has sent here, that server has found out the latter.
   */
  homeOf(snapshot: SnapshotRow, isForwarded: boolean): Promise<string | null>;
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
  nodes: Pick<Nodes, 'takesNew' | 'owns'>;
  rootfsOf: (row: { buildId: string | null }) => Promise<string>;
}): StoredOrigins => {
  const bringing = new Map<string, Promise<void>>();

  const bringTo = async (node: string, snapshot: SnapshotRow, signal: AbortSignal): Promise<void> => {
    const copy = await store.findStored({ snapshotId: snapshot.id });
    // Without one the create reports the node that has it.
    if (copy === undefined) return;
    const { id, node: from } = snapshot;
    const adopt = async () => {
      // If another server was first, the sandbox begins with what is on this node until its next round.
      await store.moveSnapshot(id, { from, to: node });
    };
    const as = { snapshot: id, rootfs: await rootfsOf(snapshot) };
    await copies.fetch(node, copy, as, { signal, adopt });
  };

  return {
    homeOf: async ({ node, id }, isForwarded) => {
      const isAsked = isForwarded && !nodes.owns(node);
      if (node === null || (!isAsked && (await nodes.takesNew(node)))) return node;
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
