import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { holdings } from '../testing/holdings.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create, toId } = useOci({ name: 'edge', memory: true, internet: true });

/** Each in a folder of its own. */
const startHolders = (instance: Instance) => {
  const programs = Object.values(holdings).map(
    ({ hold, check }, index) => `mkdir /root/${index}; cat > /root/${index}/program.py <<'END'
import os, subprocess, time
os.chdir('/root/${index}')
${hold}
open('ready', 'w').write('x')
while not os.path.exists('/root/go'): time.sleep(0.02)
found = repr((${check}))
open('new', 'w').write(found); os.rename('new', 'found')
time.sleep(1000)
END
setsid python3 /root/${index}/program.py > /root/${index}/log 2>&1 < /dev/null &`,
  );
  const wait = `for i in $(seq 0 ${programs.length - 1}); do until [ -s /root/$i/ready ]; do sleep 0.05; done; done`;
  return runInside(instance, `${programs.join('\n')}\n${wait}`);
};

const readFound = async (instance: Instance): Promise<Record<string, string>> => {
  await runInside(instance, 'touch /root/go');
  const read = async ([name]: [string, unknown], index: number): Promise<[string, string]> => {
    const folder = `/root/${index}`;
    const wait = `for i in $(seq 200); do [ -s ${folder}/found ] && break; sleep 0.05; done; cat ${folder}/found ${folder}/log`;
    return [name, (await runInside(instance, wait)).output];
  };
  return Object.fromEntries(await Promise.all(Object.entries(holdings).map(read)));
};

describe('a process that is kept in memory', () => {
  it('has everything that it held, after a pause and in a fork', async () => {
    const expected = Object.fromEntries(Object.entries(holdings).map(([name, { found }]) => [name, found]));
    const source = await create();
    await startHolders(source);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await source.pause({ memory: true });
    await source.resume();
    expect(await Promise.all([source, fork].map(readFound))).toEqual([expected, expected]);
  });
});

/** Each in Python, with the reason in the error. */
const obstacles: [string, string][] = [
  [
    'message queue',
    'queue = libc.mq_open(b"/queue", 0o102, 0o600, None); assert queue >= 0; libc.mq_unlink(b"/queue")',
  ],
  [
    'traced',
    `child = os.fork()
if child == 0:
    while os.getppid() != 1: time.sleep(0.02)
    os._exit(0)
PTRACE_SEIZE = 0x4206; assert libc.ptrace(PTRACE_SEIZE, child, 0, 0) == 0`,
  ],
  [
    'traced',
    `r, w = os.pipe(); child = os.fork()
if child == 0:
    import threading
    thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True); thread.start()
    os.write(w, b"%d" % thread.native_id)
    while os.getppid() != 1: time.sleep(0.02)
    os._exit(0)
assert libc.ptrace(0x4206, int(os.read(r, 20)), 0, 0) == 0`,
  ],
  ['secret memory', 'secret = libc.syscall(447, 0); assert secret >= 0'],
  ['by its name', 'os.mkfifo("/root/pipe"); pipe = os.open("/root/pipe", os.O_PATH)'],
  [
    'by its name',
    's = socket.socket(socket.AF_UNIX); s.bind("/root/socket"); by_name = os.open("/root/socket", os.O_PATH)',
  ],
  ['by its name', 'watch = libc.inotify_init1(0); by_name = os.open("/proc/self/fd/%d" % watch, os.O_PATH)'],
  ['packet mode', 'pipe = os.pipe2(os.O_DIRECT)'],
  [
    'corked',
    'UDP_CORK = 1; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)',
  ],
];

describe('an object that cannot be dumped', () => {
  it('prevents a pause as long as it exists, and the sandbox continues', async () => {
    const instance = await create();
    const read = async (): Promise<string> => (await runInside(instance, 'cat /root/count /root/log')).output;
    // Not every kernel has secret memory.
    const probe = "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(447, 0))'";
    const hasSecrets = Number((await runInside(instance, probe)).output) >= 0;
    for (const [reason, hold] of obstacles) {
      if (reason === 'secret memory' && !hasSecrets) continue;
      const program = `cat > /root/hold.py <<'END'
import ctypes, os, socket, time
libc = ctypes.CDLL(None)
${hold}
n = 0
while not os.path.exists("/root/close"):
    n += 1; open("/root/new", "w").write(str(n)); os.rename("/root/new", "/root/count"); time.sleep(0.01)
END
rm -f /root/count /root/close; setsid python3 /root/hold.py > /root/log 2>&1 < /dev/null & until [ -s /root/count ]; do sleep 0.05; done`;
      await runInside(instance, program);
      const refused = { code: 'unavailable', message: expect.stringContaining(reason) };
      await expect(instance.pause({ memory: true }), reason).rejects.toMatchObject(refused);
      const before = await read();
      expect(before).toMatch(/^\d+$/);
      await expect.poll(read).not.toBe(before);
      const close = 'touch /root/close; while grep -qs hold[.]py /proc/[0-9]*/cmdline; do sleep 0.05; done';
      await runInside(instance, close);
    }
    await instance.pause({ memory: true });
    await instance.resume();
    expect((await runInside(instance, 'echo here')).output).toBe('here\n');
  });
});

describe('a program that is a file in memory', () => {
  it('prevents a pause and a snapshot as long as it runs', async () => {
    const instance = await create();
    const program = `cat > /root/run.py <<'END'
import os
f = os.memfd_create("program", os.MFD_CLOEXEC); os.write(f, open("/bin/sleep", "rb").read()); os.execve(f, ["in-memory", "1000"], {})
END
setsid python3 /root/run.py > /root/log 2>&1 < /dev/null & echo $! > /root/pid; until grep -q ^in-memory /proc/$!/cmdline; do sleep 0.05; done`;
    await runInside(instance, program);
    const refused = { code: 'unavailable', message: expect.stringContaining('file in memory') };
    await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
    await expect(instance.snapshot({ id: toId(), memory: true })).rejects.toMatchObject(refused);
    const end = 'kill $(cat /root/pid) && while kill -0 $(cat /root/pid); do sleep 0.02; done';
    expect((await runInside(instance, `${end} 2>/dev/null; echo ended`)).output).toBe('ended\n');
    await instance.pause({ memory: true });
    await instance.resume();
    expect((await runInside(instance, 'echo here')).output).toBe('here\n');
  });
});

describe('a program that waits for a child to begin', () => {
  it('does not prevent a pause or a snapshot at any moment', async () => {
    const instance = await create();
    // As vfork, with a child that takes a while.
    const program = `cat > /root/spawner.py <<'END'
import ctypes, os, time
libc = ctypes.CDLL(None)
while True:
    if libc.syscall(56, 0x4000 | 17, 0, 0, 0, 0) == 0:
        time.sleep(0.3); os._exit(0)
    os.wait(); open('/root/ready', 'w').write('x'); time.sleep(0.03)
END
setsid python3 /root/spawner.py > /root/log 2>&1 < /dev/null & until [ -s /root/ready ]; do sleep 0.05; done`;
    await runInside(instance, program);
    for (let round = 0; round < 2; round++) {
      await instance.snapshot({ id: toId(), memory: true });
      await instance.pause({ memory: true });
      await instance.resume();
    }
    const { output } = await runInside(
      instance,
      'grep -l [s]pawner.py /proc/[0-9]*/cmdline | wc -l; cat /root/log',
    );
    expect(Number(output)).toBeGreaterThan(0);
  });
});

describe('a process that is stopped', () => {
  it('does not prevent a pause, and is continued after it', async () => {
    const instance = await create();
    await runInside(
      instance,
      `setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > /root/pid
until grep -q ^sleep /proc/$!/comm && grep -q 'State:.S' /proc/$!/status; do sleep 0.02; done; kill -STOP $!
until grep -q 'State:.T' /proc/$!/status; do sleep 0.02; done`,
    );
    await instance.pause({ memory: true });
    await instance.resume();
    const state = async () => (await runInside(instance, 'grep State /proc/$(cat /root/pid)/status')).output;
    await expect.poll(state).toContain('S (sleeping)');
  });
});
