import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toPod } from '@skerry/platform/kubernetes-server';
import { nodes, Sandbox } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Cluster, NODE_PORT, startCluster } from '../cluster.ts';
import { type LabApiServer, startLabApiServer } from '../kubernetes/lab-api/lab-api-server.ts';
import { expectCounting, startCounter } from './counter.ts';

const KEPT = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
let cluster: Cluster;
let api: LabApiServer;
let folder: string;

const putPod = (name: string, isReady = true) => {
  const ports = [{ name: 'skerry', containerPort: NODE_PORT }];
  return api.call(
    'put',
    'pods',
    toPod(`pod-${name}`, { node: name, ip: cluster.lab.host(name).address, isReady, ports }),
  );
};
const putMachine = (name: string, spec: object = {}) =>
  api.call('put', 'nodes', { metadata: { name }, spec });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-lab-api-'));
  const kubeconfig = join(folder, 'kubeconfig');
  cluster = await startCluster({
    nodes: ['a', 'b'],
    serverArgs: ['--node-dead-after', '30s', '--keep-busy-nodes'],
    list: async (lab) => {
      api = await startLabApiServer(lab.host('platform').through, kubeconfig);
      for (const name of ['a', 'b']) await putMachine(name);
      return ['--kubernetes', 'skerry', '--kubeconfig', kubeconfig];
    },
  });
});
afterAll(async () => {
  await cluster?.close();
  await api?.close();
  rmSync(folder, { recursive: true });
});
afterEach(() => cluster.killAll());

const create = () => Sandbox.create({ ...cluster.connection, timeoutMs: 600_000 });
const nodeOf = async ({ sandboxId }: Sandbox) => (await nodes.explain(sandboxId, cluster.connection)).node;

it('takes nodes as their pods become Ready, and keeps those whose pods and API server go', async () => {
  expect(await cluster.states()).toEqual({});
  await putPod('a');
  await expect.poll(() => cluster.states()).toEqual({ a: 'ready' });
  const first = await create();
  const before = await startCounter(first);
  await putPod('b');
  await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
  expect(await nodeOf(await create())).toBe('b');
  // A kubelet that stops makes it so while the node serves.
  await putPod('a', false);
  await api.call('stop');
  await cluster.server().stop();
  await cluster.startServer();
  expect(await cluster.states()).toEqual({ a: 'ready', b: 'ready' });
  await expectCounting(first, before);
  await create();
  await api.call('restart');
});

it('places nothing on a machine within 2 s of its cordon by Kubernetes, beside its own cordon', async () => {
  await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
  const seen = async (): Promise<boolean[]> =>
    (await nodes.list(cluster.connection)).map(({ unschedulable }) => unschedulable);
  // The server asks an API server that was away again after up to 10 s; a node that is not cordoned does not show whether it has.
  await putMachine('a', { unschedulable: true });
  await expect.poll(seen, { timeout: 30_000 }).toEqual([true, false]);
  await putMachine('a');
  await expect.poll(seen, { timeout: 2_000 }).toEqual([false, false]);
  await putMachine('a', { unschedulable: true });
  await expect.poll(seen, { timeout: 2_000 }).toEqual([true, false]);
  expect(await Promise.all([await create(), await create()].map(nodeOf))).toEqual(['b', 'b']);
  await cluster.skerry('node', 'cordon', 'b');
  await expect(create()).rejects.toThrow('a is cordoned by the cluster, b is cordoned');
  expect(await cluster.skerry('node', 'ls')).toMatch(/^a .*ready, unschedulable[\s\S]*^b .*ready, cordoned/m);
  await putMachine('a');
  await expect.poll(seen, { timeout: 2_000 }).toEqual([false, false]);
  expect(await nodeOf(await create())).toBe('a');
  await cluster.skerry('node', 'uncordon', 'b');
});

it('keeps machines with sandboxes from the cluster autoscaler', async () => {
  const kept = async (): Promise<unknown> =>
    (await api.call('get', 'nodes', 'a'))?.metadata.annotations?.[KEPT];
  await cluster.skerry('node', 'cordon', 'b');
  const sandbox = await create();
  await expect.poll(kept).toBe('true');
  await sandbox.kill();
  await expect.poll(kept).toBeUndefined();
  await cluster.skerry('node', 'uncordon', 'b');
});
