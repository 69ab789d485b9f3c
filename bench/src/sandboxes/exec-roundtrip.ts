import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { createEnvdClient } from '@skerry/envd-client';
import { Process, StartResponseSchema } from '@skerry/envd-client/process';
import { toRouting } from '@skerry/testkit';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';

/** Both sides compile and connect first. */
const WARM_UP_RUNS = 30;

type Client = ReturnType<typeof createEnvdClient>;

/**
 * `Start` of /bin/true through the edge until its end; the reference is the same call to a server that starts no
 * process.
 */
export const execRoundtrip: Benchmark = async ({ name, runs, stack, resources }) => {
  const sandbox = await stack.createBareSandbox();
  resources.defer(() => sandbox.kill());
  const bare = await startBareServer();
  resources.defer(bare.close);
  const through = createEnvdClient({
    baseUrl: stack.connection.sandboxUrl,
    headers: toRouting(sandbox.sandboxId),
    accessToken: sandbox.accessToken,
  });
  const direct = createEnvdClient({ baseUrl: bare.url });
  const { samples, compared } = await samplePairs({
    warmUpRuns: WARM_UP_RUNS,
    // Calls are short: more samples give a steadier figure in little time.
    runs: 10 * runs,
    measure: () => timeStart(through),
    beside: () => timeStart(direct),
  });
  return [toRow({ name, unit: 'ms', samples, reference: { name: 'bare connect-node', samples: compared } })];
};

async function timeStart(client: Client): Promise<number> {
  const started = performance.now();
  let ended = false;
  for await (const { event } of client.process.start({ process: { cmd: '/bin/true' }, stdin: false })) {
    ended ||= event?.event.case === 'end';
  }
  if (!ended) throw new Error('the stream had no end event');
  return performance.now() - started;
}

async function startBareServer(): Promise<{ url: string; close: () => void }> {
  const event = (value: Parameters<typeof create<typeof StartResponseSchema>>[1]) =>
    create(StartResponseSchema, value);
  const server = createServer(
    connectNodeAdapter({
      routes: (router) =>
        router.service(Process, {
          async *start() {
            yield event({ event: { event: { case: 'start', value: { pid: 1 } } } });
            yield event({
              event: { event: { case: 'end', value: { exited: true, status: 'exit status 0' } } },
            });
          },
        }),
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
