import type { V1Node } from '@kubernetes/client-node';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { NodeLoad } from '../../../store/nodes/node-rows.ts';

/** The cluster autoscaler does not remove a node with that annotation. It does not ask for pods of a DaemonSet. */
const KEPT = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
/** The annotation that marks a busy node as set by skerry: what an administrator has set stays. */
const OURS = 'skerry.io/busy';
const INTERVAL_MS = 5_000;

/** Keeps the cluster autoscaler from removing nodes that have sandboxes. */
export interface BusyNodes {
  close(): Promise<void>;
}

/**
 * Compares the annotations of the cluster's nodes with what is on them every few seconds, until `close`. Several servers may do that:
 * they write the same.
 */
export const createBusyNodes = ({
  machines,
  measureNodes,
  annotateNode,
  clock,
  log,
}: {
  /** The nodes of Kubernetes, as its API server has them. */
  machines(): readonly V1Node[];
  measureNodes(): Promise<NodeLoad[]>;
  annotateNode(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void>;
  clock: Pick<Clock, 'after'>;
  log: Log;
}): BusyNodes => {
  let isClosed = false;
  let cancelNext = (): void => {};
  let inProgress = Promise.resolve();

  const compare = async (): Promise<void> => {
    const loads = await measureNodes();
    const busy = new Set(
      loads
        .filter(({ placed, others, snapshots }) => placed + others + snapshots > 0)
        .map(({ name }) => name),
    );
    for (const { metadata } of machines()) {
      const name = metadata?.name ?? '';
      const { [KEPT]: kept, [OURS]: ours } = metadata?.annotations ?? {};
      if (busy.has(name) && kept !== 'true') await annotateNode(name, { [KEPT]: 'true', [OURS]: 'true' });
      if (!busy.has(name) && ours === 'true') await annotateNode(name, { [KEPT]: null, [OURS]: null });
    }
  };

  const repeat = (): void => {
    if (isClosed) return;
    cancelNext = clock.after(INTERVAL_MS, () => {
      inProgress = compare()
        .catch((error: unknown) =>
          log.warn('what has sandboxes could not be kept from the cluster autoscaler; this is tried again', {
            error,
          }),
        )
        .then(repeat);
    });
  };
  repeat();

  return {
    close: async () => {
      isClosed = true;
      cancelNext();
      await inProgress;
    },
  };
};
