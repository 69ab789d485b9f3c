import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { connectKubernetes } from './connect.ts';
import type { KubernetesResources } from './kubernetes-membership.ts';
import { createWatch } from './watched-objects.ts';

export interface KubernetesOptions {
  namespace: string;
  /** The labels of the pods that run `skerry node`. */
  selector: string;
  /** A kubeconfig, whose current context is used; undefined: the service account of the pod of this process. */
  kubeconfig?: string | undefined;
}

/** An API server, as far as this program uses it. */
export interface KubernetesApi {
  resources: KubernetesResources;
  /** Sets annotations of a node of the cluster; null removes one. */
  annotateNode(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void>;
}

/**
 * Loads the client of Kubernetes and its configuration; connects to nothing yet. Rejects with `MembershipError` when one of them is
 * missing.
 */
export const openKubernetes = async (options: KubernetesOptions): Promise<KubernetesApi> => {
  const { client, config } = await connectKubernetes(options.kubeconfig);
  const { CoreV1Api, PatchStrategy, setHeaderOptions } = client;
  const { namespace, selector } = options;
  const core = config.makeApiClient(CoreV1Api);
  const where = `namespace "${namespace}" with ${selector}`;

  return {
    resources: {
      pods: createWatch<V1Pod>(client, config, {
        what: `pods of ${where}`,
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
        list: () => core.listNamespacedPod({ namespace, labelSelector: selector }),
        labelSelector: selector,
      }),
      nodes: createWatch<V1Node>(client, config, {
        what: 'nodes of the cluster',
        path: '/api/v1/nodes',
        list: () => core.listNode(),
      }),
    },
    annotateNode: async (name, annotations) => {
      const merged = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
      await core.patchNode({ name, body: { metadata: { annotations } } }, merged);
    },
  };
};
