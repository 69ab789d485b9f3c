import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Node } from '@kubernetes/client-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NodeLoad } from '../../../store/nodes/node-rows.ts';
import { createManualClock } from '../../../testing/manual-clock.ts';
import { createRecordingLog, type LogLine } from '../../../testing/recording-log.ts';
import { openKubernetes } from './api.ts';
import { type BusyNodes, createBusyNodes } from './busy-nodes.ts';
import { startTestApiServer, type TestApiServer } from './testing/api-server.ts';

const KEPT = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
let server: TestApiServer;
let folder: string;
let busy: BusyNodes;
let loads: NodeLoad[];
let lines: readonly LogLine[];
let manual: ReturnType<typeof createManualClock>;

const annotations = (name: string) => server.get('nodes', name)?.metadata.annotations;
const toLoad = (name: string, more: Partial<NodeLoad>): NodeLoad => ({
  ...{ name, placed: 0, memoryMb: 0, others: 0, snapshots: 0 },
  ...more,
});

beforeEach(async () => {
  server = await startTestApiServer();
  folder = await mkdtemp(join(tmpdir(), 'skerry-busy-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await server.writeKubeconfig(kubeconfig);
  for (const name of ['a', 'b', 'c']) server.put('nodes', { metadata: { name } });
  server.put('nodes', { metadata: { name: 'd', annotations: { [KEPT]: 'true' } } });
  const { annotateNode } = await openKubernetes({ namespace: 'x', selector: 'y', kubeconfig });
  manual = createManualClock();
  const { log, lines: logged } = createRecordingLog();
  lines = logged;
  busy = createBusyNodes({
    machines: () => ['a', 'b', 'c', 'd'].map((name) => server.get('nodes', name) as V1Node),
    measureNodes: async () => loads,
    ...{ annotateNode, clock: manual.clock, log },
  });
});
afterEach(async () => {
  await busy.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

it('keeps nodes with sandboxes, paused ones or snapshots from the autoscaler as long as they have them', async () => {
  loads = [
    toLoad('a', { placed: 1 }),
    toLoad('b', { others: 1 }),
    toLoad('c', {}),
    toLoad('d', { snapshots: 1 }),
  ];
  manual.advance(5_000);
  await expect.poll(() => annotations('b')).toEqual({ [KEPT]: 'true', 'skerry.io/busy': 'true' });
  expect(annotations('a')).toEqual({ [KEPT]: 'true', 'skerry.io/busy': 'true' });
  expect(annotations('c')).toBeUndefined();
  loads = [];
  await expect
    .poll(() => {
      manual.advance(5_000);
      return [annotations('a'), annotations('b')];
    })
    .toEqual([{}, {}]);
  expect(lines).toEqual([]);
  // What an administrator has set is not of skerry.
  expect(annotations('d')).toEqual({ [KEPT]: 'true' });
  expect(server.requests.filter((one) => one.startsWith('PATCH'))).toHaveLength(4);
});
