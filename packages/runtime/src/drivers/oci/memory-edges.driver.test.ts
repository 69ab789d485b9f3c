import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../runtime.ts';
import { runInside } from '../../suite-client.ts';
import { useOci } from './oci-fixture.ts';

const { create, toId } = useOci({ name: 'edge', memory: true, internet: true });

/** What a program holds over a pause, in Python, and what it finds afterwards. */
const holdings: Record<string, { hold: string; check: string; found: string }> = {
  'a large deleted file': {
    hold: 'f = open("/root/a", "w+b"); f.write(b"x" * (5 << 20)); f.flush(); os.unlink("/root/a"); f.seek(0)',
    check: 'len(f.read())',
    found: '5242880',
  },
  'a deleted file that has another name': {
    hold: 'f = open("/root/a", "w+"); f.write("kept"); f.flush(); os.link("/root/a", "/root/b"); os.unlink("/root/a"); f.seek(0)',
    check: 'f.read(), sorted(name for name in os.listdir("/root") if name in ("a", "b") or "remap" in name)',
    found: "('kept', ['b'])",
  },
  'a lock of a file': {
    hold: 'import fcntl; f = open("/root/a", "w"); fcntl.flock(f, fcntl.LOCK_EX); g = open("/root/a")',
    check: 'subprocess.run(["flock", "-n", "/root/a", "true"]).returncode',
    found: '1',
  },
  'threads, shared memory and files in memory': {
    hold: 'import mmap, threading; m = mmap.mmap(-1, 4096); m[:4] = b"kept"; fd = os.memfd_create("x"); os.write(fd, b"too"); done = threading.Event(); threading.Timer(3600, done.set).start()',
    check: 'm[:4], os.pread(fd, 3, 0), threading.active_count()',
    found: "(b'kept', b'too', 2)",
  },
  'a port that it listens on': {
    hold: 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 9000)); s.listen()',
    check: 'socket.create_connection(("127.0.0.1", 9000)).getpeername()',
    found: "('127.0.0.1', 9000)",
  },
  'a connection over TCP, which is closed on both ends': {
    hold: 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 9000)); s.listen(); c = socket.create_connection(("127.0.0.1", 9000)); a, _ = s.accept(); c.settimeout(5); a.settimeout(5)',
    check: 'c.recv(1), a.recv(1)',
    found: "(b'', b'')",
  },
};

const startHolder = (instance: Instance, { hold, check }: { hold: string; check: string }) =>
  runInside(
    instance,
    `cat > /root/program.py <<'END'
import os, subprocess, time
${hold}
open('/root/ready', 'w').write('x')
while not os.path.exists('/root/go'): time.sleep(0.02)
found = repr((${check}))
open('/root/new', 'w').write(found); os.rename('/root/new', '/root/found')
time.sleep(1000)
END
setsid python3 /root/program.py > /root/log 2>&1 < /dev/null & until [ -s /root/ready ]; do sleep 0.05; done`,
  );

const readFound = async (instance: Instance): Promise<string> => {
  const wait =
    'touch /root/go; for i in $(seq 200); do [ -s /root/found ] && break; sleep 0.05; done; cat /root/found /root/log';
  return (await runInside(instance, wait)).output;
};

describe('a process that is kept in memory', () => {
  it.each(Object.keys(holdings))('finds %s, after a pause and in a fork', async (name) => {
    const { hold, check, found } = holdings[name] as (typeof holdings)[string];
    const source = await create();
    await startHolder(source, { hold, check });
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await source.pause({ memory: true });
    await source.resume();
    expect(await Promise.all([source, fork].map(readFound))).toEqual([found, found]);
  });
});

describe('a program that waits for a child to begin', () => {
  it('does not keep its sandbox from a pause or a snapshot, whenever that is asked for', async () => {
    const instance = await create();
    // What vfork does, with a child that takes its time.
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
  }, 60_000);
});

describe('a process that is stopped', () => {
  it('does not keep its sandbox from a pause, and goes on after it', async () => {
    const instance = await create();
    await runInside(
      instance,
      'setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > /root/pid; sleep 0.3; kill -STOP $!',
    );
    await instance.pause({ memory: true });
    await instance.resume();
    const { output } = await runInside(instance, 'grep State /proc/$(cat /root/pid)/status');
    expect(output).toContain('S (sleeping)');
  }, 30_000);
});

/** The CRIU that works on this sandbox, as soon as there is one. */
const findCriu = async (id: string): Promise<number> => {
  for (;;) {
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (command.includes('/criu\0dump\0') && command.includes(`/${id}/`)) return Number(pid);
    }
    await sleep(1);
  }
};

describe('CRIU', () => {
  it('can be killed at any moment of a pause: the sandbox runs on, or has ended and says so', async () => {
    const outcomes: Record<string, number> = {};
    for (let round = 0; round < 8; round++) {
      const instance = await create();
      await runInside(instance, `setsid sh -c 'while sleep 0.02; do :; done' >/dev/null 2>&1 </dev/null &`);
      const paused = instance.pause({ memory: true }).then(
        () => 'paused',
        () => 'refused',
      );
      const pid = await Promise.race([findCriu(instance.id), paused.then(() => 0)]);
      await sleep(round * 12);
      try {
        if (pid > 0) process.kill(pid, 'SIGKILL');
      } catch (error) {
        // It was done.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
      const outcome = await paused;
      if (outcome === 'refused') await expect.poll(() => instance.state()).not.toBe('paused');
      const state = await instance.state();
      outcomes[`${outcome} ${state}`] = (outcomes[`${outcome} ${state}`] ?? 0) + 1;
      if (state === 'stopped') continue;
      if (state === 'paused') await instance.resume();
      expect((await runInside(instance, 'echo here')).output).toBe('here\n');
      await instance.pause({ memory: true });
      await instance.resume();
      expect((await runInside(instance, 'echo still')).output).toBe('still\n');
      await instance.stop();
    }
    expect(outcomes['refused running'], JSON.stringify(outcomes)).toBeGreaterThan(0);
  }, 120_000);
});
