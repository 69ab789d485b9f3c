import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@skerry/sdk';
import { waitForPort } from '@skerry/sdk/template';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { timeCreate } from '../sandboxes/create-samples.ts';
import { packBusybox, startTemplateService } from './template-service.ts';

const IMAGE = 'bench/busybox';
const PORT = 8000;
const POLL_MS = 5;
const DEADLINE_MS = 10_000;

/**
 * The create call from a template whose checkpoint has a running server, until that server has answered over HTTP
 * through the edge. The reference is `create.cold`, alternately in the same service.
 */
export const templateCreateServed: Benchmark = async ({ name, runs, resources }) => {
  const { folder, registry, stack, build, create } = await startTemplateService(resources);
  const layer = await packBusybox(folder, ['sh', 'echo', 'grep', 'httpd', 'test']);
  await registry.pushLayers(IMAGE, { paths: [layer], compression: 'none', env: ['PATH=/bin'] });
  await build('served', {
    fromImage: `${registry.host}/${IMAGE}`,
    startCmd: `exec httpd -f -p ${PORT} -h /etc`,
    readyCmd: waitForPort(PORT),
  });
  await requireCheckpoint(stack.api);
  const { samples, compared } = await samplePairs({
    warmUpRuns: 3,
    runs,
    measure: async () => {
      const started = performance.now();
      const sandbox = await create('served');
      await waitForAnswer(sandbox, stack.connection.sandboxUrl);
      const elapsedMs = performance.now() - started;
      await sandbox.kill();
      return elapsedMs;
    },
    beside: async () => {
      const { sandbox, elapsedMs } = await timeCreate(stack);
      await sandbox.kill();
      return elapsedMs;
    },
  });
  return [
    toRow({
      ...{ name, unit: 'ms', samples },
      reference: { name: 'create.cold', samples: compared },
      bound: { of: 'ratio', atMost: 1.5 },
      ifMissed: 'CRIU and its programs take some 60 ms of processor time to restore the processes',
    }),
  ];
};

/** Otherwise each create would start the server. */
async function requireCheckpoint(
  api: Awaited<ReturnType<typeof startTemplateService>>['stack']['api'],
): Promise<void> {
  const { data } = await api.GET('/templates/{templateID}', { params: { path: { templateID: 'served' } } });
  if (data?.builds.some(({ startsFrom }) => startsFrom === 'checkpoint')) return;
  throw new Error('the template has no checkpoint: this host keeps no memory');
}

async function waitForAnswer({ sandboxId }: Sandbox, url: string): Promise<void> {
  const headers = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': String(PORT) };
  let status = 0;
  for (const deadline = Date.now() + DEADLINE_MS; Date.now() < deadline; await delay(POLL_MS)) {
    const response = await fetch(`${url}/passwd`, { headers });
    await response.arrayBuffer();
    if (response.ok) return;
    status = response.status;
  }
  throw new Error(`the server in ${sandboxId} was answered with ${status}`);
}
