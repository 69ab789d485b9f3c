import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { type Clock, passTime } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { type ListedNode, type Membership, MembershipError } from '../membership.ts';
import { isCordonedNode, toListedNode } from './agent-pods.ts';
import type { WatchedObjects, WatchObjects } from './watched-objects.ts';

/** The objects of an API server that say which nodes there are. */
export interface KubernetesResources {
  /** The pods that run `skerry node`. */
  pods: WatchObjects<V1Pod>;
  nodes: WatchObjects<V1Node>;
}

export interface KubernetesMembership extends Membership {
  /** The nodes of the cluster, also those without a pod of skerry. */
  machines(): readonly V1Node[];
}

/** The time without an answer of the API server after which a server starts with the recorded nodes. */
const FIRST_ANSWER_MS = 10_000;

/**
 * The nodes whose agents' pods are or were Ready. A pod that goes is not the end of its node: its agent may serve, and its sandboxes run,
 * without a kubelet. When the connection ends too, the node does not answer, as any other.
 */
export const createKubernetesMembership = ({
  resources,
  clock,
  log,
}: {
  resources: KubernetesResources;
  clock: Pick<Clock, 'after'>;
  log: Log;
}): KubernetesMembership => {
  const known = new Map<string, ListedNode>();
  let pods: WatchedObjects<V1Pod> | undefined;
  let machines: WatchedObjects<V1Node> | undefined;

  /** Returns whether it has changed a node. */
  const read = (): boolean => {
    const ready = (pods?.list() ?? []).flatMap((pod) => toListedNode(pod) ?? []);
    let hasChanged = false;
    for (const name of new Set(ready.map((one) => one.name))) {
      const found = ready.filter((one) => one.name === name);
      const before = known.get(name)?.address;
      // Two pods on one machine are of two installations: the first that was seen stays.
      const [node] = found;
      if (node === undefined || found.some(({ address }) => address === before)) continue;
      known.set(name, node);
      hasChanged = true;
      log.info('a pod of a node is ready', { node: name, address: node.address });
    }
    return hasChanged;
  };

  return {
    machines: () => machines?.list() ?? [],
    nodes: () => [...known.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    isCordoned: (name) => {
      const all = machines?.list() ?? [];
      const machine = all.find(({ metadata }) => metadata?.name === name);
      // One that was removed from the cluster. Before the first answer nothing is known.
      return machine === undefined ? all.length > 0 : isCordonedNode(machine);
    },
    start: async ({ recorded, onChange }) => {
      for (const { name, address } of recorded) known.set(name, { name, address });
      pods = resources.pods({
        clock,
        log,
        onChange: () => {
          if (read()) onChange();
        },
      });
      machines = resources.nodes({ clock, log, onChange: () => undefined });
      const waiting = new AbortController();
      const found = Promise.all([pods.ready, machines.ready]).then(() => true);
      const late = passTime(clock, FIRST_ANSWER_MS, waiting.signal).then(() => false);
      try {
        if (!(await Promise.race([found, late])))
          log.warn('Kubernetes does not answer: the nodes are those of the last server', {
            nodes: known.size,
          });
      } catch (error) {
        pods.close();
        machines.close();
        throw error instanceof MembershipError ? error : new MembershipError(String(error), { cause: error });
      } finally {
        waiting.abort();
      }
    },
    forget: (name) => void known.delete(name),
    close: async () => {
      pods?.close();
      machines?.close();
    },
  };
};
