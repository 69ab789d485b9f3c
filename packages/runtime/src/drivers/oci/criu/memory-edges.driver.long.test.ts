import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ObstacleKind } from '../../../obstacle.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { changedPaths } from '../testing/changed-paths.ts';
import { type Holding, holdings } from '../testing/holdings.ts';
import { expectNoBlame } from '../testing/host-failures.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create, dataDir, toId } = useOci({ name: 'edge', memory: true, internet: true });

/** Each in a folder of its own. */
const startHolders = (instance: Instance, held: Readonly<Record<string, Holding>>) => {
  const programs = Object.values(held).map(
    ({ hold, check }, index) => `mkdir -p /root/${index}/w; cat > /root/${index}/program.py <<'END'
import os, subprocess, time
os.chdir('/root/${index}/w')
${hold}
open('/root/${index}/ready', 'w').write('x')
while not os.path.exists('/root/go'): time.sleep(0.02)
found = repr((${check}))
os.chdir('/root/${index}'); open('new', 'w').write(found); os.rename('new', 'found')
time.sleep(1000)
END
setsid python3 /root/${index}/program.py > /root/${index}/log 2>&1 < /dev/null &`,
  );
  const wait = `for i in $(seq 0 ${programs.length - 1}); do until [ -s /root/$i/ready ]; do sleep 0.05; done; done`;
  return runInside(instance, `${programs.join('\n')}\n${wait}`);
};

const readFound = async (
  instance: Instance,
  held: Readonly<Record<string, Holding>>,
): Promise<Record<string, string>> => {
  await runInside(instance, 'touch /root/go');
  const read = async ([name]: [string, unknown], index: number): Promise<[string, string]> => {
    const folder = `/root/${index}`;
    const wait = `for i in $(seq 200); do [ -s ${folder}/found ] && break; sleep 0.05; done; cat ${folder}/found ${folder}/log`;
    return [name, (await runInside(instance, wait)).output];
  };
  return Object.fromEntries(await Promise.all(Object.entries(held).map(read)));
};

describe('a process that is kept in memory', () => {
  it.each([
    ['everything that it held', holdings],
    ['what it held by a path that leads elsewhere now, beside what is there now', changedPaths],
  ])('has %s, after a pause and in a fork', async (_, held) => {
    const expected = Object.fromEntries(Object.entries(held).map(([name, { found }]) => [name, found]));
    const source = await create();
    await startHolders(source, held);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await source.pause({ memory: true });
    await source.resume();
    expect(await Promise.all([source, fork].map((instance) => readFound(instance, held)))).toEqual([
      expected,
      expected,
    ]);
  });
});

/** Each in Python, by the kind in the error. */
const obstacles: [ObstacleKind, string][] = [
  [
    'message_queue',
    'queue = libc.mq_open(b"/queue", 0o102, 0o600, None); assert queue >= 0; libc.mq_unlink(b"/queue")',
  ],
  [
    'traced_process',
    `child = os.fork()
if child == 0:
    while os.getppid() != 1: time.sleep(0.02)
    os._exit(0)
PTRACE_SEIZE = 0x4206; assert libc.ptrace(PTRACE_SEIZE, child, 0, 0) == 0`,
  ],
  [
    'traced_process',
    `r, w = os.pipe(); child = os.fork()
if child == 0:
    import threading
    thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True); thread.start()
    os.write(w, b"%d" % thread.native_id)
    while os.getppid() != 1: time.sleep(0.02)
    os._exit(0)
assert libc.ptrace(0x4206, int(os.read(r, 20)), 0, 0) == 0`,
  ],
  ['secret_memory', 'secret = libc.syscall(447, 0); assert secret >= 0'],
  ['path_only', 'os.mkfifo("/root/pipe"); pipe = os.open("/root/pipe", os.O_PATH)'],
  [
    'path_only',
    's = socket.socket(socket.AF_UNIX); s.bind("/root/socket"); by_name = os.open("/root/socket", os.O_PATH)',
  ],
  ['path_only', 'watch = libc.inotify_init1(0); by_name = os.open("/proc/self/fd/%d" % watch, os.O_PATH)'],
  ['packet_pipe', 'pipe = os.pipe2(os.O_DIRECT)'],
  [
    'corked_socket',
    'UDP_CORK = 1; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)',
  ],
  ...[16, 29].map((name): [ObstacleKind, string] => [
    'unread_message',
    `a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.setsockopt(1, ${name}, 1); b.send(b"x")`,
  ]),
  ...[
    '',
    'a.setsockopt(1, socket.SO_OOBINLINE, 1)',
    'a.recv(2)',
    'a.recv(1, socket.MSG_OOB)',
    'b.close()',
  ].map((more): [ObstacleKind, string] => [
    'urgent_data',
    `s = socket.create_server(("127.0.0.1", 0)); a = socket.create_connection(s.getsockname()); b = s.accept()[0]; b.send(b"ab"); b.send(b"!", socket.MSG_OOB); b.send(b"cd"); time.sleep(0.1); ${more}`,
  ]),
  [
    'removed_folder',
    'os.mkdir("/srv") if not os.path.exists("/srv") else None; os.chdir("/srv"); os.rmdir("/srv")',
  ],
  [
    'linked_file',
    'os.mkdir("/root/d"); f = open("/root/d/a", "w"); os.link("/root/d/a", "/root/a"); os.unlink("/root/d/a"); os.rmdir("/root/d"); open("/root/d", "w")',
  ],
  ['long_path', '[(os.mkdir("x" * 200), os.chdir("x" * 200)) for _ in range(25)]'],
  [
    'kernel_watch',
    'watch = libc.inotify_init1(0); assert libc.inotify_add_watch(watch, b"/proc/self/status", 2) > 0',
  ],
  [
    'socket_path',
    's = socket.socket(socket.AF_UNIX); os.chdir("/root"); s.bind("../root/relative"); s.listen()',
  ],
  [
    'socket_path',
    's = socket.socket(socket.AF_UNIX); s.bind("/root/linked"); os.link("/root/linked", "/root/other")',
  ],
  [
    'changed_path',
    'f = open("/root/ghost", "w+"); f.write("x"); f.flush(); os.unlink("/root/ghost"); open("/root/ghost.cr.1.ghost", "w")',
  ],
  [
    'unknown',
    `import resource
if os.fork() == 0:
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    while os.getppid() != 1: time.sleep(0.02)
    os._exit(0)`,
  ],
];

describe('an object that cannot be dumped', () => {
  it('prevents a pause as long as it exists, and the sandbox continues', async () => {
    const instance = await create();
    const read = async (): Promise<string> => (await runInside(instance, 'cat /root/count /root/log')).output;
    // Not every kernel has secret memory.
    const probe = "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(447, 0))'";
    const hasSecrets = Number((await runInside(instance, probe)).output) >= 0;
    for (const [kind, hold] of obstacles) {
      if (kind === 'secret_memory' && !hasSecrets) continue;
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
      const process = kind === 'unknown' ? undefined : expect.objectContaining({ command: 'python3' });
      const refused = { code: 'blocked', obstacle: process ? { kind, process } : { kind } };
      await expect(instance.pause({ memory: true }), hold).rejects.toMatchObject(refused);
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

describe('a failure of CRIU', () => {
  it('blames nothing inside when CRIU is killed or cannot write its images, and everything continues', async () => {
    await expectNoBlame(
      { dataDir, instance: await create() },
      {
        isCommand: (words, id) =>
          words.includes('dump.log') && words.some((word) => word.endsWith(`/${id}/memory`)),
        block: (folder) => mkdirSync(`${folder}/core-1.img`),
        blocks: 1,
      },
    );
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
    const refused = { code: 'blocked', obstacle: { kind: 'program_in_memory' } };
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
    // Call clone(2) with the flags of vfork(2), with a child that takes a while.
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
