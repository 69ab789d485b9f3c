import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AddressedRuntime } from '../../guest-socket.ts';
import { prepareCriu } from '../../prepare-criu.ts';
import type { Instance, InstanceOrigin } from '../../runtime.ts';
import { prepareSuiteAgent } from '../../suite-agent.ts';
import { runInside } from '../../suite-client.ts';
import { prepareSuiteRootfs } from '../../suite-rootfs.ts';
import { findTraces } from '../../suite-traces.ts';
import { createOci } from './oci.ts';

const MIB = 2 ** 20;

let base: string;
let dataDir: string;
let agentDir: string;
let rootfs: string;
let criuDir: string | undefined;
let missing = 'CRIU cannot work on this kernel';
let runtime: AddressedRuntime;
const ids: string[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'runtime-fork-'));
  dataDir = join(base, 'data');
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  [agentDir, rootfs, criuDir] = await Promise.all([
    prepareSuiteAgent(base),
    prepareSuiteRootfs(),
    prepareCriu({ targetDir: '/var/cache/skerry' }).catch((error: Error) => {
      missing = `${error.message}: ${String(error.cause)}`;
      return undefined;
    }),
  ]);
  runtime = createOci({ dataDir, agentDir, criuDir });
}, 180_000);
beforeEach((context) => {
  if (runtime.features.snapshot.memory) return;
  console.warn(`skipped: ${missing}`);
  context.skip(missing);
});
afterEach(async () => {
  for await (const instance of runtime.list()) await instance.stop();
  for await (const { id } of runtime.snapshots.list()) await runtime.snapshots.delete(id);
  await expect.poll(() => findTraces({ dataDir, ids }), { timeout: 2_000 }).toEqual([]);
});
afterAll(async () => {
  await runtime?.close();
  await rm(base, { recursive: true, force: true });
});

const toId = (): string => {
  const id = `fork${process.pid}x${ids.length}`;
  ids.push(id);
  return id;
};
const create = (origin: InstanceOrigin = { rootfs }, hostname = 'box'): Promise<Instance> =>
  runtime.create({
    id: toId(),
    ...origin,
    hostname,
    limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
    network: { internet: true },
  });
const output = async (instance: Instance, script: string): Promise<string> =>
  (await runInside(instance, script)).output;
const detached = '>/dev/null 2>&1 </dev/null &';

/** A process that counts in its memory and says so in a file. */
const startCounter = async (instance: Instance): Promise<void> => {
  await runInside(
    instance,
    `setsid python3 -c '
import os, time
n = 0
gone = open("/root/gone", "w+"); gone.write("still here"); gone.flush(); os.unlink("/root/gone")
while True:
  n += 1
  gone.seek(0)
  open("/root/new", "w").write("%d %d %s" % (os.getpid(), n, gone.read()))
  os.rename("/root/new", "/root/count")
  time.sleep(0.01)
' ${detached} until [ -s /root/count ]; do sleep 0.02; done`,
  );
};
const readCounter = async (instance: Instance): Promise<{ pid: number; count: number; kept: string }> => {
  const [pid, count, ...kept] = (await output(instance, 'cat /root/count')).trim().split(' ');
  return { pid: Number(pid), count: Number(count), kept: kept.join(' ') };
};

describe('a snapshot with memory', () => {
  it('goes on in any number of sandboxes side by side, while its source runs on', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    const snapshot = toId();
    const { runId } = source;
    await source.snapshot({ id: snapshot, memory: true });
    expect([source.runId, await source.state()]).toEqual([runId, 'running']);
    const forks = await Promise.all(
      Array.from({ length: 4 }, (_, index) => create({ snapshot }, `box${index}`)),
    );
    const all = [source, ...forks];
    for (const one of all) {
      const { pid, count, kept } = await readCounter(one);
      expect({ pid, kept }).toEqual({ pid: before.pid, kept: 'still here' });
      expect(count).toBeGreaterThan(before.count);
      await expect.poll(async () => (await readCounter(one)).count).toBeGreaterThan(count);
    }
    const look = (script: string) => Promise.all(all.map((one) => output(one, script)));
    for (const script of [
      'hostname',
      'cat /proc/sys/kernel/random/boot_id',
      'head -c 16 /dev/urandom | od -x',
      'cat /proc/net/fib_trie | grep -B1 "32 host" | grep 10.201 | sort -u',
    ]) {
      const found = await look(script);
      expect(new Set(found).size, script).toBe(all.length);
    }
    // The owners of each are its own: one that got out would be nobody to the others.
    const owners = await Promise.all(
      all.map(async ({ id }) => {
        const pid = (await readFile(join(dataDir, 'sandboxes', id, 'pid'), 'utf8')).trim();
        return (await readFile(`/proc/${pid}/uid_map`, 'utf8')).trim().split(/\s+/)[1];
      }),
    );
    expect(new Set(owners).size).toBe(all.length);
    await Promise.all(all.map((one, index) => output(one, `echo ${index} > /root/mine`)));
    expect(await look('cat /root/mine')).toEqual(all.map((_, index) => `${index}\n`));
  });

  it('outlives its source and the runtime, and is gone when it is deleted', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    await source.stop();
    await runtime.close();
    runtime = createOci({ dataDir, agentDir, criuDir });
    expect(await runtime.snapshots.verify(snapshot)).toEqual([]);
    const fork = await create({ snapshot });
    await runtime.snapshots.delete(snapshot);
    expect((await readCounter(fork)).pid).toBe(before.pid);
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    // One that came of it is one like any other.
    await fork.pause({ memory: true });
    await fork.resume();
    expect((await readCounter(fork)).pid).toBe(before.pid);
  });

  it('can be made of a sandbox that was paused with its memory, and of none paused without', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    await source.pause({ memory: true });
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await source.resume();
    for (const one of [source, fork]) expect((await readCounter(one)).pid).toBe(before.pid);
    await source.pause({ memory: false });
    await expect(source.snapshot({ id: toId(), memory: true })).rejects.toMatchObject({
      code: 'unsupported',
    });
  });

  it('is refused when an image of it changed', async () => {
    const source = await create();
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const image = join(dataDir, 'snapshots', snapshot, 'memory', 'pages-1.img');
    const bytes = await readFile(image);
    await sleep(20);
    await writeFile(image, bytes.with(5, (bytes[5] ?? 0) ^ 1));
    await expect(create({ snapshot })).rejects.toMatchObject({ code: 'damaged' });
    expect(await runtime.snapshots.verify(snapshot)).toEqual(['the memory image pages-1.img changed']);
  });
});
