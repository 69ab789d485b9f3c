import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { begin, runScript, sh } from '../agent-rules/process-events.ts';
import { createRandom } from '../faults/random.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type StackSandbox, toRouting } from '../stack/stack-client.ts';
import { collectGarbage } from './collect-garbage.ts';
import { createRequests } from './requests.ts';
import { stages, type Visit, vanish, ways } from './vanish.ts';

const SEED = 20;
const LANES = 12;
/** Every process that is started here ends within a second, and one whose reader counts as there is held back for a minute. */
const REST_MS = 30_000;
const MEBIBYTE = 1024 * 1024;

let stack: Stack;
let sandbox: StackSandbox;
let asRoot: EnvdClient;
let pid: number;
beforeAll(async () => {
  stack = await startStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 600 });
  const { sandboxUrl: baseUrl } = stack.address;
  const headers = toRouting(sandbox.sandboxId);
  asRoot = createEnvdClient({ baseUrl, accessToken: sandbox.accessToken, headers, user: 'root' });
  await runScript(asRoot, 'truncate -s 20M /tmp/big');
  const controller = new AbortController();
  const ticking = sh('cat > /dev/null & while sleep 0.05; do echo tick; done');
  pid = (await begin(sandbox.agent.process.start(ticking, { signal: controller.signal }))).pid;
  controller.abort();
});
afterAll(() => stack.down());

/** Everything that a call may leave behind. The agent is the parent of the script that counts. */
const count = async () => {
  const inside = `cd /proc/$PPID; ls -l fd | grep -vc socket:; ls -l fd | grep -c socket:; ls task | wc -l
    cat fdinfo/* 2>/dev/null | grep -c ^inotify; cat task/*/children | wc -w; grep VmRSS status | tr -dc 0-9`;
  const { stdout } = await runScript(asRoot, inside);
  const [files = 0, sockets = 0, threads, watches, children, rss = 0] = stdout.split('\n').map(Number);
  const { processes } = await asRoot.process.list({});
  const ofServer = readdirSync(`/proc/${stack.pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${stack.pid}/fd/${fd}`);
    } catch {
      return 'closed'; // Between the two calls.
    }
  });
  const serverSockets = ofServer.filter((target) => target.startsWith('socket:')).length;
  return {
    counts: {
      files,
      threads,
      watches,
      children,
      processes: processes.length,
      serverFiles: ofServer.length - serverSockets,
      // The server keeps some connections to the agent for later: as many on one side as on the other.
      socketsOnOneSide: serverSockets - sockets,
    },
    sockets,
    rssBytes: rss * 1024,
  };
};
/** When nothing is under way any more: twice the same, with no process but the one that ticks. That takes less than a minute. */
const countAtRest = async () => {
  const begun = performance.now();
  for (let previous = ''; ; ) {
    const found = await count();
    const text = JSON.stringify([found.counts, found.sockets]);
    if (found.counts.processes === 1 && text === previous) return found;
    if (performance.now() - begun > REST_MS) throw new Error(`something goes on: ${text}`);
    previous = text;
    await delay(500);
  }
};
const restWithoutGarbage = async (): ReturnType<typeof count> => {
  await countAtRest();
  await collectGarbage(asRoot);
  return countAtRest();
};

it('leave nothing behind in the agent and in the server, wherever in a call they vanish', async () => {
  const port = Number(new URL(stack.address.apiUrl).port);
  const requests = createRequests(stack.address, sandbox, pid);
  const random = createRandom(SEED);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const combinations = requests.flatMap((request) => stages.map((stage) => ({ request, stage })));
  const vanishEverywhere = async (rounds: number): Promise<void> => {
    const visits: Visit[] = Array.from({ length: rounds }, () => combinations)
      .flat()
      .map((visit) => ({ ...visit, way: pick(ways), at: random() }))
      .toSorted(() => random() - 0.5);
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        for (let visit = visits.pop(); visit !== undefined; visit = visits.pop()) await vanish(port, visit);
      }),
    );
  };

  const { watcherId } = await asRoot.filesystem.createWatcher({ path: '/tmp' });
  const watching = await count();
  await asRoot.filesystem.removeWatcher({ watcherId });
  expect(watching.counts).toMatchObject({ watches: 1, processes: 1, children: 2 });

  // Loads everything, and fills the stores of connections that are kept on purpose.
  await vanishEverywhere(3);
  const before = await restWithoutGarbage();
  await vanishEverywhere(4);
  const after = await restWithoutGarbage();

  expect(after.counts).toEqual(before.counts);
  expect(after.sockets).toBeLessThanOrEqual(before.sockets + LANES);
  expect(after.rssBytes - before.rssBytes).toBeLessThan(32 * MEBIBYTE);
  expect((await sandbox.agent.files.GET('/health')).response.status).toBe(204);
  expect((await runScript(sandbox.agent, 'echo works')).stdout).toBe('works\n');
});
