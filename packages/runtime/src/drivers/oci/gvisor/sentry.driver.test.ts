import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isPassing, type ObstacleError } from '../../../obstacle.ts';
import { listInterfaces, runInside } from '../../../suite/client.ts';
import { toSandboxFolder } from '../folder.ts';
import { readRecord } from '../record.ts';
import { expectNoBlame } from '../testing/host-failures.ts';
import { expectOn, readCounter, startCounter, useSentry } from '../testing/sentry-lab.ts';

const program = fileURLToPath(new URL('../testing/pause-endlessly.ts', import.meta.url));
const oci = useSentry('own');
const { reopen } = oci;

describe('a pause with memory at level gvisor', () => {
  it('keeps processes and their connections, repeatedly, with nothing left on the host meanwhile', async () => {
    expect(oci.runtime.features).toMatchObject({ pause: { memory: true }, snapshot: { memory: true } });
    const made = await oci.create();
    let last = await startCounter(made);
    for (const _ of [1, 2]) {
      const instance = await oci.runtime.get(made.id);
      await instance.pause({ memory: true });
      expect(await instance.state()).toBe('paused');
      await expect.poll(() => oci.traces()).toEqual([`folder ${made.id}`]);
      await reopen();
      const next = await oci.runtime.get(made.id);
      await next.resume();
      await expectOn(next, last);
      last = await readCounter(next);
      expect((await runInside(next, listInterfaces)).output).toBe('eth0\nlo\n');
    }
  });

  it('is given up when the agent does not respond, and everything continues', async () => {
    const instance = await oci.create();
    const last = await startCounter(instance);
    // Late enough for the agent to have answered, and the pause later still.
    await runInside(instance, '(sleep 1.5; kill -STOP $PPID) >/dev/null 2>&1 </dev/null & sleep 0');
    await sleep(3_000);
    await expect(instance.pause({ memory: true })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await instance.state()).toBe('running');
    await expectOn(instance, last);
    await instance.pause({ memory: true });
    await instance.resume();
    await expectOn(instance, last);
  });

  it('is refused for a while when the agent is stopped before it has closed its sockets, and everything continues', async () => {
    const instance = await oci.create();
    const { guest } = toSandboxFolder(oci.dataDir, instance.id);
    const last = await startCounter(instance);
    const stop = 'sleep 0.5; kill -STOP $PPID; rm /run/envd/control.sock';
    await runInside(instance, `(${stop}) >/dev/null 2>&1 </dev/null & sleep 0`);
    await expect.poll(() => existsSync(`${guest}/control.sock`)).toBe(false);
    const refused = await instance.pause({ memory: true }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'blocked', obstacle: { kind: 'agent_connection' } });
    expect(await instance.state()).toBe('running');
    await expectOn(instance, last);
    await instance.pause({ memory: true });
    await instance.resume();
    await expectOn(instance, last);
  });

  it('is refused while something cannot be checkpointed, and everything continues', async () => {
    const instance = await oci.create();
    const last = await startCounter(instance);
    const listen =
      'import socket, time; s = socket.socket(1); s.bind("/root/odd"); s.listen(); time.sleep(99)';
    const connect = `python3 -c 'import socket; socket.socket(1).connect("/root/odd")'`;
    for (const [kind, attempt, wait, use] of [
      ['socket_file', `python3 -c '${listen}'`, `until ${connect} 2>/dev/null; do sleep 0.01; done`, connect],
      [
        'removed_file',
        `sh -c 'exec 3<>"/root/a: encoding error: b"; exec sleep 99'`,
        'until rm "/root/a: encoding error: b"; do sleep 0.01; done',
        'cat /proc/$(cat /root/pid)/fd/3',
      ],
    ] as const) {
      const script = `setsid ${attempt} >/dev/null 2>&1 </dev/null & echo $! > /root/pid; ${wait}`;
      await runInside(instance, script);
      const refused = await instance.pause({ memory: true }).catch((error: unknown) => error);
      // runsc names no process.
      expect(refused).toMatchObject({ code: 'blocked', obstacle: { kind } });
      expect(isPassing((refused as ObstacleError).obstacle)).toBe(false);
      expect(await instance.state()).toBe('running');
      expect(await runInside(instance, use)).toMatchObject({ code: 0 });
      await runInside(instance, 'kill $(cat /root/pid); rm -f /root/odd; sleep 0.2');
    }
    await expectOn(instance, last);
    await instance.pause({ memory: true });
    expect(await instance.state()).toBe('paused');
  });

  it('blames nothing inside when runsc is killed or cannot write its file, and everything continues', async () => {
    const instance = await oci.create();
    await expectNoBlame(
      { dataDir: oci.dataDir, instance },
      {
        isCommand: (words, id) =>
          words[0] === oci.runscPath && words.includes('checkpoint') && words.includes(id),
        // runsc overwrites none.
        block: (folder) => writeFileSync(`${folder}/checkpoint.img`, '', { flag: 'wx' }),
        blocks: 5,
      },
    );
  });

  it('is refused when its images are damaged, and its files remain', async () => {
    const instance = await oci.create();
    await runInside(instance, 'echo kept > /root/file');
    await instance.pause({ memory: true });
    const path = `${toSandboxFolder(oci.dataDir, instance.id).memory}/checkpoint.img`;
    await using file = await open(path, 'r+');
    const { size } = await file.stat();
    await file.write(Buffer.from('damage'), 0, 6, Math.floor(size / 2));
    await expect(instance.resume()).rejects.toMatchObject({ code: 'damaged' });
    expect(await instance.state()).toBe('paused');
    await instance.resume({ memory: false });
    expect((await runInside(instance, 'cat /root/file')).output).toBe('kept\n');
  });

  it.each([
    ['while everything is being written down', 'ready', 'running'],
    ['when that is done', 'pausing', 'paused'],
    ['while it is being restored', 'resuming', 'paused'],
  ])('loses no sandbox and no file when the driver is killed %s', async (_, phase, expected) => {
    const id = oci.toId();
    const folder = toSandboxFolder(oci.dataDir, id);
    await oci.runtime.close();
    const args = [program, oci.dataDir, oci.agentDir, oci.rootfs, id, '', oci.runscPath];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const isThere = async (): Promise<boolean> =>
      existsSync(folder.memory) && (await readRecord(folder.record))?.phase === phase;
    await expect.poll(isThere, { interval: 1 }).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'close');
    await reopen();
    const instance = await oci.runtime.get(id);
    expect(await instance.state()).toBe(expected);
    if (expected === 'paused') await instance.resume({ memory: true });
    const count = async (): Promise<number> =>
      Number((await runInside(instance, 'ls /root | grep -c "^[0-9]"')).output);
    // A line that was written before the pause and reported, perhaps twice.
    const kept = said.match(/^kept/gm)?.length ?? 0;
    const found = await count();
    expect([kept, kept + 1]).toContain(found);
    await instance.pause({ memory: true });
    await instance.resume({ memory: true });
    expect(await count()).toBe(found);
  });
});
