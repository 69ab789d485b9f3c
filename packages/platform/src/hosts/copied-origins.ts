import type { SnapshotRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Copies } from './copies.ts';

/** Snapshots that sandboxes begin with, on other nodes than where they were made. */
export interface CopiedOrigins {
  /**
   * Resolves as `Hosts.homeOf` does, and with null when the blob store has the snapshot and its node is
   * cordoned or cannot be reached.
   */
  homeOf(snapshot: SnapshotRow, options: { staysHere: boolean }): Promise<string | null>;
  /**
   * Resolves when a node has the snapshot, which is there from then on. Rejects with `NodeUnreachableError` and `RuntimeError`.
   */
  bring(snapshotId: string, node: string, options: { signal?: AbortSignal | undefined }): Promise<void>;
}

export const createCopiedOrigins = ({
  store,
  copies,
  takesNew,
  owns,
  rootfsOf,
}: {
  store: Pick<Store, 'findBlobCopy' | 'findSnapshotRow' | 'moveSnapshot'>;
  copies: Pick<Copies, 'fetch'>;
  /** Whether a node answers its server, and is not cordoned. True for one whose server is not known now. */
  takesNew(node: string): Promise<boolean>;
  owns(node: string): boolean;
  rootfsOf(row: { buildId: string | null }): Promise<string>;
}): CopiedOrigins => {
  const bringing = new Map<string, Promise<void>>();

  const bringTo = async (
    node: string,
    snapshot: SnapshotRow,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    const copy = await store.findBlobCopy({ snapshotId: snapshot.id });
    // Do nothing without a copy: the create then names the node that has the snapshot.
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
    homeOf: async ({ node, id }, { staysHere }) => {
      if (node === null) return null;
      const isAsked = staysHere && !owns(node);
      if (!isAsked && (await takesNew(node))) return node;
      return (await store.findBlobCopy({ snapshotId: id })) === undefined ? node : null;
    },
    bring: async (id, node, { signal }) => {
      // One at a time: a second create finds it where the first has brought it, or takes it on.
      while (bringing.has(id)) await bringing.get(id);
      const snapshot = await store.findSnapshotRow(id);
      if (snapshot?.state !== 'ready' || snapshot.node === node) return;
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
