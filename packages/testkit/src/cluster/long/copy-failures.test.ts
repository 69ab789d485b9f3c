import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodes, Sandbox } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';
import { createOn, expectCounting, readCounter, startCounter } from './counter.ts';

let cluster: Cluster;
const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
const blobs = join(base, 'blobs');

beforeAll(async () => {
  cluster = await startCluster({
    nodes: ['a', 'b'],
    serverArgs: ['--node-dead-after', '8s', '--blobs', blobs],
  });
});
afterAll(async () => {
  await cluster?.close();
  rmSync(base, { recursive: true, force: true });
});
afterEach(async () => {
  await cluster.killAll();
  await bothReady();
});

const bothReady = () => expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
const explain = ({ sandboxId }: Sandbox) => nodes.explain(sandboxId, cluster.connection);
const connect = ({ sandboxId }: Sandbox): Promise<Sandbox> => Sandbox.connect(sandboxId, cluster.connection);
const isStored = async (sandbox: Sandbox) => (await explain(sandbox)).stored;
/** The keys in the blob store. */
const stored = (folder = blobs): string[] =>
  readdirSync(folder)
    .map((name) => name.replaceAll('+', '/'))
    .filter((key) => key.startsWith('snapshots/'));
const manifests = (folder = blobs) => stored(folder).filter((key) => key.endsWith('/manifest.json'));
const isUploading = () => stored().length > 0;
/** A program that counts, beside one with memory that takes a while to store. */
const startLarge = async (sandbox: Sandbox) => {
  const script =
    'import os, time; data = os.urandom(150 * 2 ** 20); open("/tmp/large", "w"); time.sleep(1000)';
  await sandbox.commands.run(`python3 -c '${script}'`, { background: true });
  await expect.poll(() => sandbox.files.exists('/tmp/large')).toBe(true);
  return startCounter(sandbox);
};

describe('an upload', () => {
  it('that a killed server was in the middle of is begun again at the next start', async () => {
    const sandbox = await createOn(cluster, 'b');
    const before = await startLarge(sandbox);
    await sandbox.pause();
    await expect.poll(isUploading, { interval: 5 }).toBe(true);
    await cluster.server().stop('SIGKILL');
    expect(manifests()).toEqual([]);
    await cluster.startServer();
    await bothReady();
    await expect.poll(() => isStored(sandbox)).toBe(true);
    await expect.poll(() => new Set(stored().map((key) => key.split('/')[1])).size).toBe(1);
    expect(manifests()).toHaveLength(1);
    expect(readdirSync(join(cluster.nodeFolder('b'), 'snapshots'))).toEqual([]);
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    const moved = await connect(sandbox);
    await expectCounting(moved, before);
    expect((await explain(moved)).node).toBe('a');
    await cluster.startNode('b');
  });

  it('whose blob store is cut off leaves the pause valid, no manifest, and the node not drained until it is back', async () => {
    const sandbox = await createOn(cluster, 'b');
    const before = await startLarge(sandbox);
    await sandbox.pause();
    await expect.poll(isUploading, { interval: 5 }).toBe(true);
    renameSync(blobs, `${blobs}-away`);
    await expect.poll(async () => (await explain(sandbox)).problem).toBeTruthy();
    expect(await explain(sandbox)).toMatchObject({ node: 'b', stored: false });
    expect(manifests(`${blobs}-away`)).toEqual([]);
    const drained = await cluster
      .skerry('node', 'drain', 'b', '--json')
      .catch(({ stdout }) => String(stdout));
    const { remaining } = JSON.parse(drained);
    expect(remaining).toMatchObject([{ sandboxId: sandbox.sandboxId, state: 'paused' }]);
    expect(remaining[0].problem).toBeTruthy();
    renameSync(`${blobs}-away`, blobs);
    await expect.poll(() => isStored(sandbox)).toBe(true);
    expect(await cluster.skerry('node', 'drain', 'b')).toContain('nothing is on b');
    await expectCounting(await connect(sandbox), before);
    expect((await explain(sandbox)).node).toBe('a');
    await cluster.skerry('node', 'uncordon', 'b');
  });
});

describe('a node that dies', () => {
  it('loses nothing that is stored, and has what is not when it is back', async () => {
    const [kept, left] = [await createOn(cluster, 'b'), await createOn(cluster, 'b')];
    const [first, second] = [await startCounter(kept), await startCounter(left)];
    await kept.pause();
    await expect.poll(() => isStored(kept)).toBe(true);
    renameSync(blobs, `${blobs}-away`);
    await left.pause();
    await expect.poll(async () => (await explain(left)).problem).toBeTruthy();
    await cluster.node('b').stop('SIGKILL');
    renameSync(`${blobs}-away`, blobs);
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'lost' });
    await expect(connect(left)).rejects.toThrow('node "b" cannot be reached');
    await expectCounting(await connect(kept), first);
    expect((await explain(kept)).node).toBe('a');
    await cluster.startNode('b');
    await bothReady();
    await expectCounting(await connect(left), second);
    expect((await explain(left)).node).toBe('b');
  });
});

describe('a record of memory', () => {
  it('that names another processor is refused with the difference, and the sandbox stays paused', async () => {
    const sandbox = await createOn(cluster, 'b');
    await startCounter(sandbox);
    renameSync(blobs, `${blobs}-away`);
    await sandbox.pause();
    await expect.poll(async () => (await explain(sandbox)).problem).toBeTruthy();
    await cluster.node('b').stop();
    // All machines of the test are this one: only a record that lies is of another class.
    const folder = join(cluster.nodeFolder('b'), 'sandboxes', sandbox.sandboxId);
    const records = readdirSync(folder).filter((name) => name.endsWith('.json'));
    const changed = records.filter((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      const lie = text.replace(/"cpuModel":\s*"[^"]*"/, '"cpuModel":"another"');
      if (lie !== text) writeFileSync(join(folder, name), lie);
      return lie !== text;
    });
    expect(changed).toHaveLength(1);
    await cluster.startNode('b');
    renameSync(`${blobs}-away`, blobs);
    await expect.poll(() => isStored(sandbox)).toBe(true);
    await cluster.lab.cut('b');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    await expect(connect(sandbox)).rejects.toThrow(
      /the model of the CPU was another and is .*a has refused it, b cannot/,
    );
    expect(await explain(sandbox)).toMatchObject({ node: 'b', stored: true });
    await cluster.lab.mend('b');
  });
});

describe('a drain', () => {
  it('of twenty sandboxes loses none', async () => {
    await cluster.skerry('node', 'cordon', 'a');
    const create = () => Sandbox.create({ ...cluster.connection, timeoutMs: 600_000 });
    const made = await Promise.all(Array.from({ length: 20 }, create));
    await cluster.skerry('node', 'uncordon', 'a');
    const before = [];
    for (const [index, sandbox] of made.entries()) {
      before.push(await startCounter(sandbox));
      if (index % 2 === 0) await sandbox.pause();
    }
    expect(await cluster.skerry('node', 'drain', 'b')).toContain('nothing is on b');
    expect(readdirSync(join(cluster.nodeFolder('b'), 'sandboxes'))).toEqual([]);
    for (const [index, sandbox] of made.entries()) {
      const count = before[index];
      if (count === undefined) throw new Error('no count');
      await expectCounting(await connect(sandbox), count);
      expect((await explain(sandbox)).node).toBe('a');
    }
    await cluster.skerry('node', 'uncordon', 'b');
  });

  it('moves files that are watched, a terminal and a connection with itself twenty times', async () => {
    const sandbox = await createOn(cluster, 'a');
    let count = await startCounter(sandbox);
    const { pid } = await sandbox.pty.create({ cols: 80, rows: 24 });
    for (let move = 1; move <= 20; move += 1) {
      const from = (await explain(sandbox)).node ?? 'none';
      expect(await cluster.skerry('node', 'drain', from)).toContain(`nothing is on ${from}`);
      await cluster.skerry('node', 'uncordon', from);
      expect((await explain(sandbox)).node).toBe(from === 'a' ? 'b' : 'a');
      const moved = await connect(sandbox);
      count = await expectCounting(moved, count);
      let seen = '';
      const terminal = await moved.pty.connect(pid, {
        onData: (data) => {
          seen += Buffer.from(data).toString();
        },
      });
      await terminal.sendInput('x=$((x+1)); echo "moved=$x"\n');
      await expect.poll(() => seen).toContain(`moved=${move}\r\n`);
      terminal.disconnect();
    }
    expect((await readCounter(sandbox)).pid).toBe(count.pid);
  });
});
