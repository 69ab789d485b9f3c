import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { MembershipError } from '../membership.ts';
import { connectKubernetes } from './connect.ts';
import type { KubernetesResources } from './kubernetes-membership.ts';
import type { Change, Resource } from './reflector.ts';

export interface KubernetesPlace {
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

/** An API server that is busy or hangs answers a list later, or never. */
const LIST_TIMEOUT_MS = 30_000;
/** The API server ends a watch after so long; the client begins it again. */
const WATCH_SECONDS = 300;

/**
 * Loads the client of Kubernetes and its configuration; connects to nothing yet. Rejects with `MembershipError` when one of them is
 * missing.
 */
export const openKubernetes = async (place: KubernetesPlace): Promise<KubernetesApi> => {
  const { client, config } = await connectKubernetes(place.kubeconfig);
  const { CoreV1Api, PatchStrategy, setHeaderOptions, Watch } = client;
  const { namespace, selector } = place;
  const core = config.makeApiClient(CoreV1Api);
  const where = `namespace "${namespace}" with ${selector}`;

  const toResource = <T>(
    what: string,
    {
      list,
      path,
      query,
    }: {
      list(): Promise<{ items: T[]; metadata?: { resourceVersion?: string } }>;
      path: string;
      query: Record<string, string>;
    },
  ): Resource<T> => ({
    list: async (signal) => {
      const late = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
      const { items, metadata } = await untilAborted(list(), late).catch((error: unknown) => {
        throw explain(what, error);
      });
      return { items, resourceVersion: metadata?.resourceVersion ?? '' };
    },
    watch: async (resourceVersion, onChange, signal) => {
      const asked = { ...query, resourceVersion, allowWatchBookmarks: true, timeoutSeconds: WATCH_SECONDS };
      const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
      const begun = new Watch(config).watch(
        path,
        asked,
        (type, object) => {
          if (type === 'ERROR') reject(new Error(`the watch of ${what} ended: ${toReason(object)}`));
          else onChange({ type, object } as Change<T>);
        },
        // Without a change for a while, the client ends it with a timeout.
        (error: Error | null) =>
          error === null || error.name === 'TimeoutError' ? resolve() : reject(error),
      );
      begun.catch(reject);
      try {
        await untilAborted(ended, signal);
      } catch (error) {
        throw explain(what, error);
      } finally {
        void begun.then(
          (running) => running.abort(),
          () => undefined,
        );
      }
    },
  });

  return {
    resources: {
      where,
      pods: toResource<V1Pod>(`pods of ${where}`, {
        list: () => core.listNamespacedPod({ namespace, labelSelector: selector }),
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
        query: { labelSelector: selector },
      }),
      nodes: toResource<V1Node>('nodes', {
        list: () => core.listNode(),
        path: '/api/v1/nodes',
        query: {},
      }),
    },
    annotateNode: async (name, annotations) => {
      const merged = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
      await core.patchNode({ name, body: { metadata: { annotations } } }, merged);
    },
  };
};

/** Rejects with the reason of the signal when that aborts first. */
const untilAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
    // What was begun may still fail.
    work.catch(() => undefined);
  }
};

const toStatus = (error: unknown): number | undefined => {
  // Lists and watches of the client name it differently.
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  return [code, statusCode].find((one) => typeof one === 'number');
};

/** What an operator has to change is a `MembershipError`. The errors of the client have the whole answer in their message. */
const explain = (what: string, error: unknown): unknown => {
  const status = toStatus(error);
  if (status === undefined) return error;
  const problem = `Kubernetes answers ${status} to a list or watch of ${what}`;
  return status === 401 || status === 403
    ? new MembershipError(`${problem}: allow it to the account of this server`, { cause: error })
    : new Error(problem, { cause: error });
};

/** Of the object `Status` of an API server. */
const toReason = (object: unknown): string => {
  const { reason, code } = (object ?? {}) as { reason?: unknown; code?: unknown };
  return `${typeof reason === 'string' ? reason : 'for no reason'}, ${typeof code === 'number' ? code : 'no code'}`;
};
