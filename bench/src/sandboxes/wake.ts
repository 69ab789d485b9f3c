import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { nodes, Sandbox } from '@skerry/sdk';
import type { Benchmark } from '../harness/benchmark.ts';
import type { BenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';

const WARM_UP_RUNS = 1;
const MOST_RUNS = 20;
const MOST_BURSTS = 5;
const PORT = 8000;
const REQUESTS = 1_000;

/** Python's own server lets five connections wait, and the kernel inside would make the others try again after seconds. */
const server = `import http.server
http.server.ThreadingHTTPServer.request_queue_size = ${REQUESTS}
http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), http.server.SimpleHTTPRequestHandler).serve_forever()`;

/** A sandbox that requests resume, with a server. */
const startServer = async ({ connection }: BenchStack): Promise<Sandbox> => {
  const sandbox = await Sandbox.create({ ...connection, autoResume: true, timeoutMs: 600_000 });
  await sandbox.files.write('/tmp/server.py', server);
  await sandbox.commands.run('setsid python3 /tmp/server.py > /dev/null 2>&1 < /dev/null &');
  for (let status = 0; status !== 200; ) status = await ask(sandbox);
  return sandbox;
};

/** Requests a page of the server from the loopback address, by its name. */
const ask = async (sandbox: Sandbox, agent: Agent | false = false): Promise<number> => {
  const { host, port } = new URL(sandbox.getUrl(PORT));
  const client = request({ host: '127.0.0.1', port, headers: { host }, agent }).end();
  const [answer] = (await once(client, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
};

const timeOf = async (act: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await act();
  return performance.now() - started;
};

const requireServed = (status: number): void => {
  if (status !== 200) throw new Error(`a request to a paused sandbox got ${status}`);
};

/** What the first request to a paused sandbox takes longer than a resume by the API and then the same request. */
export const wakeFirst: Benchmark = async ({ name, runs, stack }) => {
  const sandbox = await startServer(stack);
  const samples: number[] = [];
  for (let run = -WARM_UP_RUNS; run < Math.min(runs, MOST_RUNS); run += 1) {
    await sandbox.pause();
    const heldMs = await timeOf(async () => requireServed(await ask(sandbox)));
    await sandbox.pause();
    const resumedMs = await timeOf(async () => {
      await Sandbox.connect(sandbox.sandboxId, stack.connection);
      requireServed(await ask(sandbox));
    });
    if (run >= 0) samples.push(heldMs - resumedMs);
  }
  await sandbox.kill();
  return [toRow({ name, unit: 'ms', samples, bound: { of: 'p50', atMost: 10 } })];
};

/** What a thousand requests at once to a paused sandbox take until all are served. Fails when they resume it more than once. */
export const wakeMany: Benchmark = async ({ name, runs, scale, stack }) => {
  const sandbox = await startServer(stack);
  const agent = new Agent({ maxSockets: REQUESTS });
  const samples: number[] = [];
  const rounds = Math.min(runs, MOST_BURSTS);
  for (let run = 0; run < rounds; run += 1) {
    await sandbox.pause();
    const burst = Array.from({ length: Math.ceil(REQUESTS * scale) }, () => sandbox);
    samples.push(
      await timeOf(async () => {
        for (const status of await Promise.all(burst.map((each) => ask(each, agent)))) requireServed(status);
      }),
    );
  }
  agent.destroy();
  const { history } = await nodes.explain(sandbox.sandboxId, stack.connection);
  const resumes = history.filter(({ message }) => message === 'sandbox resumed').length;
  if (resumes !== rounds) throw new Error(`${rounds} bursts of requests resumed a sandbox ${resumes} times`);
  await sandbox.kill();
  return [toRow({ name, unit: 'ms', samples })];
};
