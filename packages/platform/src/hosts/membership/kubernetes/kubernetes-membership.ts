import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { type Clock, passTime } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { type ListedNode, type Membership, MembershipError } from '../membership.ts';
import { isCordonedNode, toListedNode } from './agent-pods.ts';
import { createReflector, type Reflector, type Resource } from './reflector.ts';

/** The objects of an API server that say which nodes there are. */
export interface KubernetesResources {
  /** The namespace and the labels of the agents' pods, for messages. */
  where: string;
  /** The pods that run `skerry node`. */
  pods: Resource<V1Pod>;
  nodes: Resource<V1Node>;
}

export interface KubernetesMembership extends Membership {
  /** The nodes of the cluster by name, also those without a pod of skerry. */
  machines(): ReadonlyMap<string, V1Node>;
}

/** Without an answer of the API server a server starts with the recorded nodes after so long. */
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
  let pods: Reflector<V1Pod> | undefined;
  let machines: Reflector<V1Node> | undefined;
  const none: ReadonlyMap<string, V1Node> = new Map();

  /** Returns whether it has changed a node. */
  const read = (): boolean => {
    const ready = [...(pods?.items.values() ?? [])].flatMap((pod) => toListedNode(pod) ?? []);
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
    machines: () => machines?.items ?? none,
    nodes: () => [...known.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    isCordoned: (name) => {
      const all = machines?.items ?? none;
      const machine = all.get(name);
      // One that was removed from the cluster. Before the first answer nothing is known.
      return machine === undefined ? all.size > 0 : isCordonedNode(machine);
    },
    start: async ({ recorded, onChange }) => {
      for (const { name, address } of recorded) known.set(name, { name, address });
      const common = { clock, log };
      pods = createReflector({
        ...{ ...common, what: `pods of ${resources.where}`, resource: resources.pods },
        onChange: () => {
          if (read()) onChange();
        },
      });
      machines = createReflector({
        ...{ ...common, what: 'nodes of the cluster', resource: resources.nodes },
        onChange: () => {},
      });
      const waiting = new AbortController();
      const found = Promise.all([pods.ready, machines.ready]).then(() => true);
      const late = passTime(clock, FIRST_ANSWER_MS, waiting.signal).then(() => false);
      try {
        if (!(await Promise.race([found, late])))
          log.warn('Kubernetes does not answer: the nodes are those of the last server', {
            nodes: known.size,
          });
      } catch (error) {
        await Promise.all([pods.close(), machines.close()]);
        throw error instanceof MembershipError ? error : new MembershipError(String(error), { cause: error });
      } finally {
        waiting.abort();
      }
    },
    forget: (name) => void known.delete(name),
    close: async () => {
      await Promise.all([pods?.close(), machines?.close()]);
    },
  };
};
