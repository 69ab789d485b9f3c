import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { type Content, findLosses, startCounter, writeFile } from '../../faults/lifecycle/kept-content.ts';
import { awaitReady, awaitShared } from '../await-cluster.ts';
import { startBalancer } from '../balancer.ts';
import type { Replica } from '../cluster.ts';
import { startDatabaseCluster } from '../database-cluster.ts';

export interface UpgradeOptions {
  /** Paths of the two programs. */
  before: string;
  now: string;
  /** What is replaced first. */
  first: 'nodes' | 'servers';
  onProgress: (what: string) => void;
}

const NODES = ['a', 'b'];
const LIFE_MS = 3_600_000;

interface Kept extends Content {
  id: string;
}

/**
 * Replaces the programs of a cluster by those of another version, one after the other, each ended by SIGTERM, while sandboxes run, and streams through
 * the servers. After each replacement it uses all sandboxes, and makes, pauses, resumes and forks some. Rejects with the first thing that is not as
 * it was.
 */
export async function runUpgrade({ before, now, first, onProgress }: UpgradeOptions): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const { cluster, close } = await startDatabaseCluster({
    nodes: NODES,
    program: before,
    checksAnswers: false,
  });
  cleanup.defer(close);
  const balancer = cleanup.adopt(await startBalancer(), (one) => one.close());
  const serve = (replicas: readonly Replica[]): void =>
    balancer.serve(replicas.map(({ address }) => address.apiUrl));
  serve(cluster.replicas);
  await awaitReady(cluster);
  await awaitShared(cluster);
  const connection = {
    ...cluster.connection,
    apiUrl: balancer.url,
    sandboxUrl: balancer.url,
    timeoutMs: LIFE_MS,
  };

  const make = async (): Promise<Kept> => {
    const sandbox = await Sandbox.create(connection);
    const files = new Map([await writeFile(sandbox, { name: 'kept', text: sandbox.sandboxId })]);
    return { id: sandbox.sandboxId, files, counter: await startCounter(sandbox) };
  };
  const kept = await Promise.all([make(), make(), make(), make()]);

  const check = async (): Promise<void> => {
    for (const one of kept) {
      const { losses, counter } = await findLosses(await Sandbox.connect(one.id, connection), one);
      if (losses.length > 0) throw new Error(`${one.id} has lost ${losses.join(', ')}`);
      one.counter = counter;
    }
  };
  /** On sandboxes of before, and on a new one. */
  const operate = async (): Promise<void> => {
    const made = await make();
    for (const { id } of [kept[0] as Kept, kept[1] as Kept, made]) {
      await Sandbox.pause(id, connection);
      await Sandbox.connect(id, connection);
      const [copy] = await Sandbox.fork(id, connection);
      if (!(copy instanceof Sandbox)) throw new Error(`the fork of ${id} failed`, { cause: copy });
      await copy.kill();
    }
    await Sandbox.kill(made.id, connection);
  };

  /** Opens a stream that counts, and resolves with a function that does when it goes on. */
  const openStream = async (): Promise<{ goesOn(): Promise<void>; end(): Promise<unknown> }> => {
    let lines = 0;
    let wrong: string | undefined;
    const sandbox = await Sandbox.connect((kept[2] as Kept).id, connection);
    const stream = await sandbox.commands.run('i=0; while true; do i=$((i+1)); echo $i; sleep 0.1; done', {
      background: true,
      timeoutMs: LIFE_MS,
      onStdout: (text) => {
        for (const line of text.trim().split('\n')) {
          lines += 1;
          if (line !== String(lines)) wrong ??= `${line} as line ${lines}`;
        }
      },
    });
    const goesOn = async (): Promise<void> => {
      const seen = lines;
      for (const deadline = performance.now() + 30_000; lines <= seen + 3; await delay(50))
        if (performance.now() > deadline) throw new Error('the stream does not go on');
      if (wrong !== undefined) throw new Error(`the stream brought ${wrong}`);
    };
    await goesOn();
    return { goesOn, end: () => stream.kill() };
  };

  const replaceNode = async (name: string): Promise<void> => {
    await cluster.node(name).stop();
    await cluster.startNode(name);
  };
  const replaceServer = async (replica: Replica): Promise<void> => {
    const streams = await Promise.all([openStream(), openStream()]);
    serve(cluster.replicas.filter((one) => one !== replica));
    await replica.service().stop();
    for (const { goesOn } of streams) await goesOn();
    await replica.start();
    serve(cluster.replicas);
    for (const { goesOn, end } of streams) {
      await goesOn();
      await end();
    }
  };
  const nodes = NODES.map((name) => [`node ${name}`, () => replaceNode(name)] as const);
  const servers = cluster.replicas.map((replica) => [replica.machine, () => replaceServer(replica)] as const);
  const steps = first === 'nodes' ? [...nodes, ...servers] : [...servers, ...nodes];

  const use = async (): Promise<void> => {
    await awaitReady(cluster);
    await awaitShared(cluster);
    await check();
    await operate();
    await check();
  };
  await use();
  onProgress('all of the former version');
  cluster.use(now);
  for (const [name, replace] of steps) {
    await replace();
    await use();
    onProgress(`${name} replaced`);
  }
  for (const { id } of kept) await Sandbox.kill(id, connection);
}
