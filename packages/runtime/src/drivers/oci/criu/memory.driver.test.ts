import { cp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startHelper } from '../../../remote/helper.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { connectGuestSocket } from '../../guest-socket.ts';
import { toSandboxFolder } from '../folder.ts';
import { readRecord } from '../record.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { verifyImages } from './checkpoint.ts';

const counter = await readFile(new URL('../../../suite/counter.cjs', import.meta.url), 'utf8');
const oci = useOci({ name: 'memory', memory: true, internet: true });
const { create, dataDir, settings, toId } = oci;

/** The sandbox as a process finds it that starts after all others of the driver have ended. */
const reopen = async (id: string): Promise<Instance> => {
  await oci.reopen();
  return oci.runtime.get(id);
};

const detached = '>/dev/null 2>&1 </dev/null &';

const startCounter = async (instance: Instance): Promise<void> => {
  await runInside(instance, `cat > /root/counter.cjs <<'END'\n${counter}\nEND`);
  await runInside(
    instance,
    `LD_LIBRARY_PATH=/.envd/lib setsid /.envd/node /root/counter.cjs ${detached} until [ -S /root/counter.sock ]; do sleep 0.02; done`,
  );
};

const askCounter = async (
  instance: Instance,
): Promise<{ count: number; echo: string; deleted: string; seen: boolean }> => {
  const ask = `require('net').connect('/root/counter.sock').pipe(process.stdout)`;
  const { output } = await runInside(instance, `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "${ask}"`);
  if (!output.startsWith('{')) throw new Error(output);
  return JSON.parse(output);
};

/** The settings of a sandbox's cgroups, by file. */
const readLimits = async ({ id }: Instance): Promise<Record<string, string>> => {
  const root = '/sys/fs/cgroup';
  const found: Record<string, string> = {};
  const files = {
    memory: ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'],
    cpu: ['cpu.cfs_quota_us', 'cpu.cfs_period_us'],
    pids: ['pids.max'],
    devices: ['devices.list'],
    cpuset: ['cpuset.cpus', 'cpuset.mems'],
  };
  const parents = (await readdir(`${root}/pids`)).filter((name) => name.startsWith('skerry-'));
  for (const [tree, names] of Object.entries(files)) {
    for (const name of names) {
      for (const folder of parents) {
        // Not every tree has every file.
        const text = await readFile(`${root}/${tree}/${folder}/${id}/${name}`, 'utf8').catch(() => undefined);
        if (text !== undefined) found[name] = text.split('\n').sort().join('\n');
      }
    }
  }
  return found;
};

describe('a pause that keeps the memory', () => {
  it('keeps processes with their state, and the next helper restores them, ten times', async () => {
    let instance = await create();
    await startCounter(instance);
    await runInside(
      instance,
      `setsid sh -c 'n=0; while sleep 0.02; do n=$((n+1)); echo $n > /root/shell; done' ${detached}`,
    );
    await runInside(
      instance,
      `setsid python3 -c '
import time
n = 0
while True:
  time.sleep(0.02)
  n += 1
  with open("/root/python", "w") as f: f.write(str(n))
' ${detached}`,
    );
    let last = await askCounter(instance);
    const runs = new Set([instance.runId]);
    for (let turn = 1; turn <= 10; turn++) {
      const numbers = await runInside(instance, 'cat /root/shell /root/python');
      await instance.pause({ memory: true });
      expect(await instance.state()).toBe('paused');
      if (turn % 3 === 0) instance = await reopen(instance.id);
      await instance.resume(turn === 5 ? { memory: true } : {});
      runs.add(instance.runId);
      const now = await askCounter(instance);
      expect(now.count).toBeGreaterThan(last.count);
      expect(now).toMatchObject({ echo: `line ${turn + 1}`, deleted: 'still here', seen: true });
      await expect
        .poll(async () => (await runInside(instance, 'cat /root/shell /root/python')).output)
        .not.toBe(numbers.output);
      last = now;
    }
    expect(runs.size).toBe(11);
  });

  it('leaves nothing on the host but what keeps it', async () => {
    const instance = await create();
    await instance.pause({ memory: true });
    await expect.poll(oci.traces).toEqual([`folder ${instance.id}`]);
    expect(await instance.usage()).toMatchObject({ memoryBytes: 0, processCount: 0 });
  });

  it('restores the limits, the host name and the network of the processes', async () => {
    const instance = await create();
    const look =
      'hostname; cat /proc/sys/kernel/random/boot_id; ls /sys/class/net; cat /proc/sys/net/ipv4/ping_group_range /proc/sys/net/ipv4/ip_unprivileged_port_start; grep -E "^(Cap|Seccomp|NoNew)" /proc/1/status /proc/self/status; cat /proc/self/limits; cut -d" " -f5 /proc/self/mountinfo | sort; grep -E " /(run/envd|\\.envd|proc/sys/kernel/random/boot_id) " /proc/self/mountinfo | cut -d" " -f5,6 | sort; unshare -U true; mount -t tmpfs x /mnt; cat /proc/kmsg /proc/keys';
    const before = await runInside(instance, look);
    const limits = await readLimits(instance);
    expect(Object.keys(limits)).toHaveLength(8);
    await instance.pause({ memory: true });
    await instance.resume();
    expect(await runInside(instance, look)).toEqual(before);
    expect(await readLimits(instance)).toEqual(limits);
    const bomb = 'i=0; while [ $i -lt 200 ]; do sleep 3 & i=$((i+1)); done; echo $i';
    expect((await runInside(instance, bomb)).output).toMatch(/fork/i);
  });

  it('is refused while another client is connected to the agent, and the sandbox continues', async () => {
    const instance = await create();
    await startCounter(instance);
    const before = await askCounter(instance);
    const { guest } = toSandboxFolder(dataDir, instance.id);
    const stranger = await connectGuestSocket({ path: `${guest}/http.sock` });
    stranger.write('GET / HTTP/1.1\r\n');
    await sleep(50);
    await expect(instance.pause({ memory: true })).rejects.toMatchObject({
      code: 'blocked',
      obstacle: { kind: 'agent_connection' },
    });
    expect(await instance.state()).toBe('running');
    stranger.destroy();
    expect((await askCounter(instance)).count).toBeGreaterThan(before.count);
    await instance.pause({ memory: true });
    await instance.resume();
    expect((await askCounter(instance)).echo).toBe('line 3');
  });

  it('can be resumed from images with compressed tmpfs files, which are not written any more', async () => {
    const { criuDir = '' } = oci;
    const older = join(oci.base, 'criu');
    await cp(criuDir, older, { recursive: true });
    await rm(join(older, 'criu-plain'));
    await oci.reopen({ criuDir: older });
    const { id } = await create();
    const images = toSandboxFolder(dataDir, id).memory;
    const isCompressed = async (): Promise<boolean[]> => {
      const names = (await readdir(images)).filter((name) => name.startsWith('tmpfs-'));
      const heads = await Promise.all(names.map((name) => readFile(join(images, name))));
      return [...new Set(heads.map((head) => head.readUInt16BE(0) === 0x1f8b))];
    };
    await runInside(await oci.runtime.get(id), 'echo kept > /dev/shm/file');
    for (const expected of [true, false]) {
      const instance = await oci.runtime.get(id);
      await instance.pause({ memory: true });
      expect(await isCompressed()).toEqual([expected]);
      await oci.reopen({ criuDir });
      const resumed = await oci.runtime.get(id);
      await resumed.resume({ memory: true });
      expect(await runInside(resumed, 'cat /dev/shm/file')).toEqual({ code: 0, output: 'kept\n' });
    }
  });

  it('can be resumed without its processes', async () => {
    const instance = await create();
    await startCounter(instance);
    await instance.pause({ memory: true });
    await instance.resume({ memory: false });
    expect(
      (await runInside(instance, 'ls /root/counter.cjs; cat /proc/[0-9]*/cmdline')).output,
    ).not.toContain('/root/counter.cjs\0');
    await instance.pause({ memory: false });
    expect(await readdir(join(dataDir, 'sandboxes', instance.id))).toEqual(['disk.ext4', 'record.json']);
  });

  it('is not resumed when an image is incomplete, and still exists', async () => {
    const instance = await create();
    await startCounter(instance);
    const before = await askCounter(instance);
    await instance.pause({ memory: true });
    const folder = join(dataDir, 'sandboxes', instance.id, 'memory');
    for (const name of ['pages-1.img', 'core-1.img', 'mountpoints-']) {
      const file = (await readdir(folder)).find((entry) => entry.startsWith(name));
      if (file === undefined) throw new Error(`no image ${name}`);
      await using image = await open(join(folder, file), 'r+');
      const { size } = await image.stat();
      const { buffer } = await image.read(Buffer.alloc(1), 0, 1, size - 1);
      const put = async (byte: number): Promise<void> => {
        await image.write(Buffer.from([byte]), 0, 1, size - 1);
      };
      const kept = buffer[0] ?? 0;
      await put(kept ^ 1);
      await expect(instance.resume()).rejects.toThrow(`the memory image ${file} changed`);
      expect(await instance.state()).toBe('paused');
      await put(kept);
    }
    await instance.resume();
    expect((await askCounter(instance)).count).toBeGreaterThan(before.count);
  });

  it('is distinguished from one with any image truncated, emptied, longer, missing or changed in one byte', async () => {
    const instance = await create();
    await startCounter(instance);
    const before = await askCounter(instance);
    await instance.pause({ memory: true });
    const { record, memory: folder } = toSandboxFolder(dataDir, instance.id);
    const images = (await readRecord(record))?.memory?.images;
    if (images === undefined) throw new Error('no images');
    const damages: ((bytes: Buffer) => Buffer | undefined)[] = [
      (bytes) => bytes.subarray(0, -1),
      () => Buffer.alloc(0),
      (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]),
      () => undefined,
      (bytes) => Buffer.concat([Buffer.from([(bytes[0] ?? 0) ^ 1]), bytes.subarray(1)]),
      (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 0x80])]),
    ];
    expect(images.files.length).toBeGreaterThan(damages.length);
    for (const [index, { name }] of images.files.entries()) {
      const path = join(folder, name);
      const whole = await readFile(path);
      // All kinds of damage for one image, and one kind for each.
      for (const damage of name === 'core-1.img' ? damages : [damages[index % damages.length]]) {
        const damaged = damage?.(whole);
        if (damaged === undefined) await rm(path);
        else await writeFile(path, damaged);
        await expect(verifyImages(folder, images)).rejects.toMatchObject({
          code: 'damaged',
          message: expect.stringContaining(name),
        });
        await writeFile(path, whole);
      }
    }
    // Rewritten at every resume, where CRIU makes the user namespace.
    if (images.usernsName !== undefined) await rm(join(folder, images.usernsName));
    await instance.resume();
    expect((await askCounter(instance)).count).toBeGreaterThan(before.count);
  });

  it('is available through the helper too, and outlives it', async () => {
    const { agentDir, rootfs, programsDir } = oci;
    const driver = { name: 'oci', keepsMemory: true, programsDir } as const;
    const helper = await startHelper({ dataDir, agentDir, driver });
    expect(helper.features.pause.memory).toBe(true);
    const instance = await helper.create({ id: toId(), rootfs, ...settings });
    await startCounter(instance);
    const before = await askCounter(instance);
    await instance.pause({ memory: true });
    await helper.close();
    const next = await startHelper({ dataDir, agentDir, driver });
    const found = await next.get(instance.id);
    await found.resume();
    const after = await askCounter(found);
    expect(after.count).toBeGreaterThan(before.count);
    expect(after.echo).toBe('line 2');
    await found.stop();
    await next.close();
  });
});
