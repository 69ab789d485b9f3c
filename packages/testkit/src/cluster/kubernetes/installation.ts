import { join } from 'node:path';
import {
  type AppsV1Api,
  type KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  type V1Secret,
} from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { mergeValues, renderChart, type Values } from '../../chart/render-chart.ts';
import { until } from './until.ts';

const chart = join(import.meta.dirname, '../../../../../deploy/helm/skerry');
export const release = 'skerry';
/** Helm reads manifests as YAML 1.1, where the mode 0400 is octal. */
const asHelm = { version: '1.1' } as const;

/** What the chart has made in a namespace. */
export interface Installation {
  /** Resolves when all its pods are Ready. */
  ready(timeoutMs: number): Promise<void>;
  /** Deletes all of it; sandboxes on the machines stay. */
  remove(): Promise<void>;
}

/** Applies the chart to a new namespace. Rejects with what the API server refuses. */
export const install = async ({
  config,
  apps,
  namespace,
  databaseUrl,
  values,
}: {
  config: KubeConfig;
  apps: AppsV1Api;
  namespace: string;
  databaseUrl: string;
  values: Values;
}): Promise<Installation> => {
  const api = KubernetesObjectApi.makeApiClient(config);
  const database: V1Secret = {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'database', namespace } },
    stringData: { url: databaseUrl },
  };
  const all = mergeValues(values, { database: { existingSecret: 'database' } });
  const rendered = [...renderChart(chart, { name: release, namespace }, all)]
    .filter(([name]) => name.endsWith('.yaml'))
    .flatMap(([, text]) =>
      parseAllDocuments(text, asHelm).map((one) => one.toJS() as KubernetesObject | null),
    )
    .filter((object) => object !== null);
  const objects: KubernetesObject[] = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    database,
    ...rendered.map((object) => toNamespaced(object, namespace)),
  ];
  const made: KubernetesObject[] = [];
  for (const object of objects) {
    await api.create(object);
    made.push(object);
  }
  return {
    ready: async (timeoutMs) => {
      await until('the nodes are ready', timeoutMs, async () => {
        const { metadata, status } = await apps.readNamespacedDaemonSet({
          name: `${release}-node`,
          namespace,
        });
        const { desiredNumberScheduled = 0, numberReady, updatedNumberScheduled } = status ?? {};
        // Until the controller has seen a change, the figures are those before it.
        return (
          status?.observedGeneration === metadata?.generation &&
          desiredNumberScheduled > 0 &&
          numberReady === desiredNumberScheduled &&
          updatedNumberScheduled === desiredNumberScheduled
        );
      });
      await until('the servers are ready', timeoutMs, async () => {
        const { spec, status } = await apps.readNamespacedDeployment({
          name: `${release}-server`,
          namespace,
        });
        return status?.readyReplicas === spec?.replicas;
      });
    },
    remove: async () => {
      for (const object of made.toReversed()) await api.delete(object);
    },
  };
};

const ofCluster = ['ClusterRole', 'ClusterRoleBinding'];

const toNamespaced = (object: KubernetesObject, namespace: string): KubernetesObject => {
  if (!ofCluster.includes(object.kind ?? ''))
    object.metadata = Object.assign(object.metadata ?? {}, { namespace });
  return object;
};
