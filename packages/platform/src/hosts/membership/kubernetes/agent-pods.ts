import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { isNodeName } from '@skerry/contract/node-name';
import type { ListedNode } from '../membership.ts';

/** The name of the container port at which a node listens; without one of that name it is `DEFAULT_PORT`. */
const PORT_NAME = 'skerry';
const DEFAULT_PORT = 7_400;

/** The taint of a node that the cluster autoscaler is about to remove. */
const REMOVED_BY_AUTOSCALER = 'ToBeDeletedByClusterAutoscaler';

/** The node that a pod of `skerry node` serves; undefined while the pod is not Ready. */
export const toListedNode = ({ metadata, spec, status }: V1Pod): ListedNode | undefined => {
  const name = spec?.nodeName;
  const host = status?.podIP;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
  if (!isReady || metadata?.deletionTimestamp || name === undefined || host === undefined) return undefined;
  if (!isNodeName(name)) return undefined;
  const ports = spec?.containers.flatMap(({ ports: all = [] }) => all) ?? [];
  const port = ports.find((one) => one.name === PORT_NAME)?.containerPort ?? DEFAULT_PORT;
  return { name, address: `${host.includes(':') ? `[${host}]` : host}:${port}` };
};

/** Whether Kubernetes wants nothing new on a machine. */
export const isCordonedNode = ({ spec, metadata }: V1Node): boolean =>
  spec?.unschedulable === true ||
  metadata?.deletionTimestamp !== undefined ||
  spec?.taints?.some(({ key }) => key === REMOVED_BY_AUTOSCALER) === true;
