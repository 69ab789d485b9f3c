import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../../error.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { readPid } from '../container/read-pid.ts';
import { toSandboxFolder } from '../folder.ts';
import { readHost } from '../host.ts';
import { readRecord } from '../record.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { expectTalk, startTalker } from '../testing/talker-lab.ts';
import { continueProcesses } from './continue-processes.ts';
import type { DumpOptions } from './criu.ts';
import { MAX_DESCRIPTORS } from './descriptors/list-descriptors.ts';
import { dumpMemory } from './dump.ts';
import { freezeAtRest } from './freeze-at-rest.ts';
import { waitForClosedHostConnections } from './host-connections.ts';

const oci = useOci({ name: 'runon', memory: true });
const { create, dataDir, toId } = oci;

/** The processes of the CRIU that writes to that folder, without those that it has restored. */
const findDumps = async (imagesDir: string): Promise<number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, index) => commands[index]?.includes(`\0--images-dir\0${imagesDir}\0`));
};

/** The CRIU of the driver, and the record of the sandbox. */
const openBackend = async ({ id }: Pick<Instance, 'id'>) => {
  const host = readHost({ dataDir, criuDir: oci.criuDir });
  const folder = toSandboxFolder(dataDir, id);
  const record = await readRecord(folder.record);
  const criu = host.levels.container?.criu;
  if (criu === undefined || record === undefined) throw new Error('nothing to keep memory with');
  return { host, folder, record, criu };
};

describe('a sandbox whose dump was interrupted', () => {
  it('continues, with its connections, when the process that dumped it ended before the record was written', async () => {
    const instance = await create();
    await startTalker(instance);
    const { host, folder, record, criu } = await openBackend(instance);
    const cgroup = host.cgroup(instance.id);
    await waitForClosedHostConnections(await cgroup.members());
    await freezeAtRest(cgroup, readPid(folder));
    await dumpMemory({ host, criu }, record, { imagesDir: folder.memory });
    await oci.reopen();
    const found = await oci.runtime.get(instance.id);
    expect(await found.state()).toBe('running');
    await expectTalk(found);
    await found.pause({ memory: true });
    await found.resume();
    await expectTalk(found);
  });

  it('continues, with its connections, when a pause fails after the dump', async () => {
    const instance = await create();
    await startTalker(instance);
    const blocker = `${toSandboxFolder(dataDir, instance.id).record}.next`;
    await mkdir(blocker);
    await expect(instance.pause({ memory: true })).rejects.toMatchObject({ code: 'internal' });
    await rm(blocker, { recursive: true });
    await expectTalk(instance);
    await instance.pause({ memory: true });
    await instance.resume();
    await expectTalk(instance);
  });

  it('leaves no process of a program that was killed while it wrote', async () => {
    const { id } = await create();
    const { host, folder, record, criu: real } = await openBackend({ id });
    let ended: Promise<unknown[]> | undefined;
    // Stands for CRIU, with a child process that waits for ever.
    const dump = async ({ lineFd }: DumpOptions): Promise<never> => {
      ended = once(spawn('sleep', ['1000'], { stdio: ['ignore', 'ignore', 'ignore', lineFd] }), 'exit');
      throw new RuntimeError('exhausted', 'criu was killed');
    };
    const criu = { ...real, dump };
    await expect(dumpMemory({ host, criu }, record, { imagesDir: folder.memory })).rejects.toMatchObject({
      code: 'exhausted',
    });
    expect(await ended).toEqual([null, 'SIGKILL']);
  });

  it('keeps its connections when CRIU is killed at the end of the dump', async () => {
    const instance = await create();
    await startTalker(instance);
    const { host, folder, record, criu } = await openBackend(instance);
    const cgroup = host.cgroup(instance.id);
    await waitForClosedHostConnections(await cgroup.members());
    await freezeAtRest(cgroup, readPid(folder));
    const imagesDir = `${folder.memory}-copy`;
    const whileHeld = async (): Promise<void> => {
      for (const pid of await findDumps(imagesDir)) process.kill(pid, 'SIGKILL');
      // Time enough for released processes to run.
      await sleep(200);
    };
    const dumped = dumpMemory({ host, criu }, record, { imagesDir, whileHeld });
    await expect(dumped).rejects.toMatchObject({ code: 'exhausted' });
    await continueProcesses(cgroup, folder);
    await expectTalk(instance);
  });

  it('continues when more files are open than a pause can check, and is paused when they are closed', async () => {
    const instance = await create();
    await startTalker(instance);
    await runInside(
      instance,
      `cat > /root/opener.py <<'END'
import os, resource, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
f = open("/root/new-file", "w"); children = []
count = ${MAX_DESCRIPTORS} // 4
for _ in range(count): os.dup(f.fileno())
for _ in range(4):
    if os.fork() == 0: break
open("/root/opened-%d" % os.getpid(), "w")
while not os.path.exists("/root/close"): time.sleep(0.02)
END
setsid python3 /root/opener.py > /root/opener.log 2>&1 < /dev/null &
until [ "$(ls /root | grep -c opened-)" = 5 ]; do sleep 0.05; done`,
    );
    const refused = { code: 'blocked', obstacle: { kind: 'too_many_files' } };
    await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
    await expect(instance.snapshot({ id: toId(), memory: true })).rejects.toMatchObject(refused);
    expect(await instance.state()).toBe('running');
    await expectTalk(instance);
    await runInside(
      instance,
      'touch /root/close; while grep -qs [o]pener.py /proc/[0-9]*/cmdline; do sleep 0.05; done',
    );
    await instance.pause({ memory: true });
    await instance.resume();
    await expectTalk(instance);
  });
});
