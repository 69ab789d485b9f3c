import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openBlobStore } from '@skerry/blobs/open';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { expectOn, readCounter, startCounter, useSentry } from '../testing/sentry-lab.ts';

const oci = useSentry('owns');
const { create, dataDir, reopen, toId } = oci;

const output = async (instance: Instance, script: string): Promise<string> =>
  (await runInside(instance, script)).output;

describe('a snapshot with memory at level gvisor', () => {
  it('starts any number of sandboxes side by side, while its source keeps running', async () => {
    const source = await create();
    const before = await startCounter(source);
    const snapshot = toId();
    const { runId } = source;
    await source.snapshot({ id: snapshot, memory: true });
    expect([source.runId, await source.state()]).toEqual([runId, 'running']);
    const forks = await Promise.all([0, 1, 2].map((index) => create({ snapshot }, `box${index}`)));
    const all = [source, ...forks];
    for (const one of all) await expectOn(one, before);
    const look = (script: string) => Promise.all(all.map((one) => output(one, script)));
    expect(await look('uname -n')).toEqual(['box\n', 'box0\n', 'box1\n', 'box2\n']);
    expect(await look('cat /etc/hostname')).toEqual(await look('uname -n'));
    for (const script of [
      'grep ^127.0.1.1 /etc/hosts',
      'head -c 16 /dev/urandom | od -x',
      `python3 -c 'import socket; s = socket.socket(2, 2); s.connect(("203.0.113.1", 9)); print(s.getsockname()[0])'`,
    ]) {
      const found = await look(script);
      expect(new Set(found).size, `${script}: ${found.join()}`).toBe(all.length);
    }
    await Promise.all(all.map((one, index) => output(one, `echo ${index} > /root/mine`)));
    expect(await look('cat /root/mine')).toEqual(all.map((_, index) => `${index}\n`));
    // The program that set the name has left nothing, and no process inside can do the same.
    expect(await look('python3 -c "import socket; socket.sethostname(\'mine\')" 2>&1 | tail -n 1')).toEqual(
      all.map(() => 'PermissionError: [Errno 1] Operation not permitted\n'),
    );
  });

  it('outlives its source and the runtime, also in a blob store, and a sandbox made from it is one like any other', async () => {
    const source = await create();
    const before = await startCounter(source);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    await source.stop();
    await reopen();
    expect(await oci.runtime.snapshots.verify(snapshot)).toEqual([]);
    const copy = await create({ snapshot });
    await oci.runtime.snapshots.delete(snapshot);
    await expectOn(copy, before);
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    await copy.pause({ memory: true });
    const second = toId();
    await copy.snapshot({ id: second, memory: true });
    await copy.resume();
    await expectOn(copy, before);
    const blobs = await openBlobStore({ kind: 'folder', folder: join(oci.base, 'blobs') });
    const templateDigest = `sha256:${'a'.repeat(64)}`;
    const stored = { blobs, copy: toId(), templateDigest };
    const { manifestSha256 } = await oci.runtime.snapshotCopies.write(second, stored);
    await oci.runtime.snapshots.delete(second);
    const { rootfs } = oci;
    await oci.runtime.snapshotCopies.read(second, { ...stored, manifestSha256, rootfs });
    await expectOn(await create({ snapshot: second }), before);
  });

  it('that is ephemeral is usable for forks only', async () => {
    const source = await create();
    const before = await startCounter(source);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true, ephemeral: true });
    const fork = await create({ snapshot });
    for await (const { id } of oci.runtime.snapshots.list()) expect.fail(`${id} is listed`);
    await oci.runtime.snapshots.delete(snapshot);
    await expectOn(fork, before);
    await fork.pause({ memory: true });
    await fork.resume();
    await expectOn(fork, before);
    await expectOn(source, before);
  });

  it('is not made while something cannot be checkpointed, and everything continues', async () => {
    const source = await create();
    const before = await startCounter(source);
    const listen =
      'import socket, time; s = socket.socket(1); s.bind("/root/odd"); s.listen(); time.sleep(99)';
    await runInside(
      source,
      `setsid python3 -c '${listen}' >/dev/null 2>&1 </dev/null & until [ -S /root/odd ]; do sleep 0.01; done`,
    );
    await expect(source.snapshot({ id: toId(), memory: true })).rejects.toMatchObject({
      code: 'blocked',
      obstacle: { kind: 'socket_file' },
    });
    await expectOn(source, before);
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    expect((await readCounter(source)).pid).toBe(before.pid);
  });

  it('starts no sandbox on a server that has no runsc', async () => {
    const snapshot = toId();
    await (await create()).snapshot({ id: snapshot, memory: true });
    await oci.reopen({ runscPath: undefined });
    await expect(create({ snapshot })).rejects.toMatchObject({ code: 'unsupported' });
  });
});
