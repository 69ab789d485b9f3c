import { type AppsV1Api, type CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { type ConnectionOptions, nodes, Sandbox } from '@skerry/sdk';
import type { Forward } from './forward.ts';
import { type Installation, release } from './installation.ts';
import { isMachineReady, setUnschedulable, stopKubelet } from './machines.ts';
import { createTally } from './tally.ts';
import { retry, until } from './until.ts';

export interface CheckOptions {
  core: CoreV1Api;
  apps: AppsV1Api;
  namespace: string;
  /** Those of the pool. */
  machines: readonly string[];
  image: string;
  apiKey: string;
  installation: Installation;
  forward(exceptOn?: readonly string[]): Promise<Forward>;
}

/** One counter a sandbox, which begins at 1 and misses none while it lives. */
const counter =
  'n=0; while true; do n=$((n+1)); echo $n > /tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.1; done';
const COUNTERS = 10;

/** Resolves with whether all is as it should be, and prints each step with its figures. */
export const runChecks = async (options: CheckOptions): Promise<boolean> => {
  const { core, apps, namespace, machines, apiKey, installation } = options;
  const [first = '', second = ''] = machines;
  const tally = createTally();
  let forward = await options.forward();
  const connection = (): ConnectionOptions => {
    const url = `http://127.0.0.1:${forward.port}`;
    return { apiUrl: url, sandboxUrl: url, apiKey };
  };
  // A node that gets another server is refused for a moment, which is no failure of its sandboxes.
  const create = () => retry(60_000, () => Sandbox.create({ ...connection(), timeoutMs: 3_600_000 }));
  const nodeOf = async ({ sandboxId }: Sandbox) => (await nodes.explain(sandboxId, connection())).node ?? '';
  const count = async (id: string): Promise<number> =>
    Number(await (await Sandbox.connect(id, connection())).files.read('/tmp/count'));
  const allReady = () =>
    until('all nodes take sandboxes', 300_000, async () => {
      const listed = await nodes.list(connection());
      return listed.length === machines.length && listed.every(({ state }) => state === 'ready');
    });

  await allReady();
  await tally.check('a sandbox is created and runs a command', async () => {
    const sandbox = await create();
    const { stdout } = await sandbox.commands.run('echo $((6 * 7))');
    await sandbox.kill();
    return stdout.trim() === '42';
  });

  const counters = await Promise.all(
    Array.from({ length: COUNTERS }, async () => {
      const sandbox = await create();
      await sandbox.commands.run(counter, { background: true });
      return { id: sandbox.sandboxId, node: await nodeOf(sandbox) };
    }),
  );
  const countAll = () => Promise.all(counters.map(({ id }) => retry(60_000, () => count(id))));
  const goOn = async (before: readonly number[]): Promise<boolean> => {
    const now = await countAll();
    return now.every((one, index) => one > (before[index] ?? 0));
  };
  await until('all counters count', 30_000, async () => (await countAll()).every((one) => one > 5));
  tally.note(`${COUNTERS} counters run on ${new Set(counters.map(({ node }) => node)).size} machines`);

  await tally.check(`a rollout of all nodes ends none of ${COUNTERS} counters`, async () => {
    const before = await countAll();
    const name = `${release}-node`;
    const annotations = { 'skerry.io/rolled': new Date().toISOString() };
    const body = { spec: { template: { metadata: { annotations } } } };
    const merged = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);
    await apps.patchNamespacedDaemonSet({ name, namespace, body }, merged);
    await installation.ready(600_000);
    const tookMs = await until('all counters go on', 120_000, () => goOn(before));
    const now = await countAll();
    tally.note(
      `they went from ${Math.min(...before)} to ${Math.min(...now)}, ${Math.round(tookMs)} ms after the rollout`,
    );
    return true;
  });

  await tally.check('kubectl cordon stops placement within 2 s, and uncordon reverts that', async () => {
    const others = machines.filter((name) => name !== first);
    await allReady();
    await setUnschedulable(core, first, true);
    const seen = await until('it is cordoned', 30_000, async () =>
      (await nodes.list(connection())).some(({ name, unschedulable }) => name === first && unschedulable),
    );
    const made = [await create(), await create(), await create()];
    const homes = await Promise.all(made.map(nodeOf));
    await setUnschedulable(core, first, false);
    const back = await until('it is not cordoned', 30_000, async () =>
      (await nodes.list(connection())).every(({ unschedulable }) => !unschedulable),
    );
    for (const name of others) await nodes.cordon({ name, ...connection() });
    const again = await create();
    const home = await nodeOf(again);
    for (const name of others) await nodes.uncordon({ name, ...connection() });
    await Promise.all([...made, again].map((sandbox) => sandbox.kill()));
    tally.note(`seen after ${Math.round(seen)} ms, and reverted after ${Math.round(back)} ms`);
    return seen < 2_000 && back < 2_000 && !homes.includes(first) && home === first;
  });

  await tally.check('a kubelet that stops ends no sandbox of its machine while the node serves', async () => {
    // A server on that machine is not Ready then.
    forward.close();
    forward = await options.forward([second]);
    const before = await countAll();
    await stopKubelet(core, { ...options, machine: second, seconds: 150 });
    tally.note(`Kubernetes holds ${second} for not ready`);
    const states = await nodes.list(connection());
    const isServed = states.every(({ state }) => state === 'ready');
    const hasCounters = counters.some(({ node }) => node === second);
    await until('all counters go on', 30_000, () => goOn(before));
    await until(`the kubelet of ${second} is back`, 300_000, () => isMachineReady(core, second));
    return isServed && hasCounters && (await goOn(before));
  });

  for (const { id } of counters) await (await Sandbox.connect(id, connection())).kill();
  forward.close();
  return tally.isRight();
};
