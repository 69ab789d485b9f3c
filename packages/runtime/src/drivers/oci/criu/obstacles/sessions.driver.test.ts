import { describe, expect, it } from 'vitest';
import { signalProcess } from '../../../../kernel/signal-process.ts';
import { runInside } from '../../../../suite/client.ts';
import { readPid } from '../../container/read-pid.ts';
import { toSandboxFolder } from '../../folder.ts';
import { useOci } from '../../testing/oci-fixture.ts';

const { create, dataDir } = useOci({ name: 'sessions', memory: true });

/** Leads a session with children, all of which end. */
const leaders = `for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        for _ in range(4):
            if os.fork() == 0: time.sleep(0.2); os._exit(3)
        os._exit(0)`;

const toProgram = (name: string, text: string): string => `cat > /root/${name} <<'END'
import ctypes, os, time
${text}
END
setsid python3 /root/${name} > /root/log 2>&1 < /dev/null &`;

describe('a session', () => {
  it('of zombies that the first process has not reaped delays no pause', async () => {
    const instance = await create();
    const ended = `while not os.path.exists('/root/go'): time.sleep(0.02)
os.unlink('/root/go')
${leaders}`;
    for (let round = 0; round < 4; round++) {
      await runInside(instance, toProgram('ended.py', ended));
      const first = readPid(toSandboxFolder(dataDir, instance.id));
      signalProcess(first, 'SIGSTOP');
      const count = 'cat /proc/[0-9]*/stat | grep -c " Z "';
      const wait = `echo x > /root/go; until [ "$(${count})" -ge 15 ]; do sleep 0.05; done; echo ended`;
      expect((await runInside(instance, wait)).output).toBe('ended\n');
      await instance.pause({ memory: true });
      await instance.resume();
    }
  });

  it('below a process that adopts orphans prevents a pause as long as that process lives', async () => {
    const instance = await create();
    const PR_SET_CHILD_SUBREAPER = 36;
    const reaper = `assert ctypes.CDLL(None).prctl(${PR_SET_CHILD_SUBREAPER}, 1, 0, 0, 0) == 0
${leaders}
time.sleep(0.5); open('/root/ready', 'w').write('x')
while not os.path.exists('/root/end'): time.sleep(0.02)`;
    const wait = 'until [ -s /root/ready ]; do sleep 0.05; done; cat /root/log';
    await runInside(instance, `${toProgram('reaper.py', reaper)} ${wait}`);
    const refused = { code: 'blocked', obstacle: { kind: 'session', process: { command: 'python3' } } };
    await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
    const end =
      'touch /root/end; while grep -qs reape[r].py /proc/[0-9]*/cmdline; do sleep 0.05; done; echo over';
    expect((await runInside(instance, end)).output).toContain('over');
    await instance.pause({ memory: true });
    await instance.resume();
    expect((await runInside(instance, 'echo here')).output).toBe('here\n');
  });
});
