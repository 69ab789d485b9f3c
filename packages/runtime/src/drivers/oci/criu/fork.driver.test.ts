import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const oci = useOci({ name: 'fork', memory: true, internet: true });
const { create, dataDir, toId } = oci;

const output = async (instance: Instance, script: string): Promise<string> =>
  (await runInside(instance, script)).output;
const detached = '>/dev/null 2>&1 </dev/null &';

/** A process that counts in its memory and writes the count to a file. */
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
  it('starts any number of sandboxes side by side, while its source keeps running', async () => {
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
      'cat /etc/hostname',
      'grep ^127.0.1.1 /etc/hosts',
      'cat /proc/sys/kernel/random/boot_id',
      'head -c 16 /dev/urandom | od -x',
      'cat /proc/net/fib_trie | grep -B1 "32 host" | grep 10.201 | sort -u',
    ]) {
      const found = await look(script);
      expect(new Set(found).size, script).toBe(all.length);
    }
    // Each has owners of its own: a process that escaped would have no rights over the others.
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

  it('outlives the instance and the runtime, and is removed when it is deleted', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    await source.stop();
    await oci.reopen();
    expect(await oci.runtime.snapshots.verify(snapshot)).toEqual([]);
    const fork = await create({ snapshot });
    await oci.runtime.snapshots.delete(snapshot);
    expect((await readCounter(fork)).pid).toBe(before.pid);
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    // A sandbox made from it is one like any other.
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

  it('works in the same way when it is ephemeral, and only the process that made it can use it', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    const [first, second] = [toId(), toId()];
    await source.snapshot({ id: first, memory: true, ephemeral: true });
    const forks = await Promise.all([0, 1].map(() => create({ snapshot: first })));
    for await (const { id } of oci.runtime.snapshots.list()) expect.fail(`${id} is listed`);
    await oci.runtime.snapshots.delete(first);
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    await expect(create({ snapshot: first })).rejects.toMatchObject({ code: 'not_found' });
    for (const fork of forks) {
      const { pid, count, kept } = await readCounter(fork);
      expect({ pid, kept }).toEqual({ pid: before.pid, kept: 'still here' });
      // Check the disk, which was captured while it was in use.
      await output(fork, 'head -c 1000000 /dev/urandom > /root/file; md5sum /root/file > /root/sum; sync');
      await fork.pause({ memory: true });
      await fork.resume();
      expect(await output(fork, 'md5sum --status -c /root/sum && echo whole')).toBe('whole\n');
      expect((await readCounter(fork)).count).toBeGreaterThan(count);
    }
    await source.snapshot({ id: second, memory: true, ephemeral: true });
    await oci.reopen();
    await expect(oci.runtime.snapshots.verify(second)).rejects.toMatchObject({ code: 'not_found' });
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
  });

  it('is rejected when one of its images has changed', async () => {
    const source = await create();
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const image = join(dataDir, 'snapshots', snapshot, 'memory', 'pages-1.img');
    const bytes = await readFile(image);
    await sleep(20);
    await writeFile(image, bytes.with(5, (bytes[5] ?? 0) ^ 1));
    await expect(create({ snapshot })).rejects.toMatchObject({ code: 'damaged' });
    expect(await oci.runtime.snapshots.verify(snapshot)).toEqual(['the memory image pages-1.img changed']);
  });
});
