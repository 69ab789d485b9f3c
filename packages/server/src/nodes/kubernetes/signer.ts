import type { CoreV1Api, V1CertificateSigningRequest, V1Pod } from '@kubernetes/client-node';
import { isNodeName } from '@skerry/contract/node-name';

const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';

/** The pods whose requests are signed. */
export interface NodePods {
  namespace: string;
  /** Theirs, and of no other pods. */
  serviceAccount: string;
}

/** The name of the node for which a request is, or why it is refused. */
export type Verdict = { node: string } | { refusal: string };

/**
 * Decides for which node a request is, by what the API server has found out about its sender and not by what the request says: a token of
 * a pod's service account is bound to that pod, and the pod to its machine.
 */
export const judgeRequest = async (
  { spec }: Pick<V1CertificateSigningRequest, 'spec'>,
  { namespace, serviceAccount }: NodePods,
  readPod: (name: string) => Promise<V1Pod | undefined>,
): Promise<Verdict> => {
  const expected = `system:serviceaccount:${namespace}:${serviceAccount}`;
  if (spec.username !== expected) return { refusal: `its sender is not ${expected}` };
  const [podName] = spec.extra?.[POD_NAME] ?? [];
  const [podUid] = spec.extra?.[POD_UID] ?? [];
  if (podName === undefined || podUid === undefined) return { refusal: 'its sender is bound to no pod' };
  const pod = await readPod(podName);
  if (pod?.metadata?.uid !== podUid) return { refusal: `pod ${podName} has ended` };
  if (pod.spec?.serviceAccountName !== serviceAccount)
    return { refusal: `pod ${podName} has another service account` };
  const node = pod.spec.nodeName;
  if (node === undefined || !isNodeName(node)) return { refusal: `pod ${podName} is on no machine` };
  return { node };
};

/** Reads pods of a namespace; undefined for one that does not exist. */
export const createPodReader =
  (core: Pick<CoreV1Api, 'readNamespacedPod'>, namespace: string) =>
  async (name: string): Promise<V1Pod | undefined> => {
    try {
      return await core.readNamespacedPod({ name, namespace });
    } catch (error) {
      if ((error as { code?: unknown }).code === 404) return undefined;
      throw error;
    }
  };
