import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Sandbox } from '@skerry/sdk';
import type { Benchmark } from '../harness/benchmark.ts';
import type { BenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';

const WARM_UP_RUNS = 1;
const MOST_RUNS = 20;
const PORT = 8000;

/** A sandbox that requests resume, with a server. */
const startServer = async ({ connection }: BenchStack): Promise<Sandbox> => {
  const sandbox = await Sandbox.create({ ...connection, autoResume: true, timeoutMs: 600_000 });
  await sandbox.commands.run(`setsid python3 -m http.server ${PORT} > /dev/null 2>&1 < /dev/null &`);
  for (let status = 0; status !== 200; ) status = await ask(sandbox);
  return sandbox;
};

/** Requests a page of the server from the loopback address, by its name. */
const ask = async (sandbox: Sandbox): Promise<number> => {
  const { host, port } = new URL(sandbox.getUrl(PORT));
  const client = request({ host: '127.0.0.1', port, headers: { host }, agent: false }).end();
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
