import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { arch } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Instance } from './runtime.ts';
import type { SuiteHost } from './suite.ts';
import { agentFolderSuite } from './suite-agent-folder.ts';
import { callGuest, listInterfaces, runInside } from './suite-client.ts';
import { findThrough, hostileLimits } from './suite-hostile.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** What must hold however hostile the code inside is. Each probe is code that runs inside and tries. */
export const isolationSuite = (host: SuiteHost): void => {
  const isAlive = async (instance: Parameters<typeof runInside>[0]): Promise<boolean> =>
    (await runInside(instance, 'echo alive')).output === 'alive\n';

  describe('limits', () => {
    it('contains a fork bomb, and the agent answers or the whole sandbox has ended', async () => {
      const instance = await host.create();
      // Each shell waits, so that the bomb fills the sandbox and stays.
      const bomb = 'for i in $(seq 400); do (sleep 20 &) 2>/dev/null || echo full; done';
      const begin = `setsid sh -c '${bomb}' >/dev/null 2>&1 </dev/null & sleep 1`;
      if (host.traits.endsAtLimit === 'sandbox') {
        // The sandbox may end before it answers.
        await runInside(instance, begin).catch(() => undefined);
        await expectEnd(host, instance);
        return;
      }
      await runInside(instance, begin);
      const { processCount } = await instance.usage();
      expect(processCount).toBeGreaterThan(limits.processCount / 2);
      expect(processCount).toBeLessThanOrEqual(limits.processCount);
      expect(await callGuest(await instance.connect(49_983), { path: '/' })).toBe('ok');
    });

    it('ends a program that takes more memory than there is, and not the agent, or the whole sandbox', async () => {
      const instance = await host.create();
      const take = runInside(instance, `perl -e 'my $x = "x" x (1 << 30); print length $x'`);
      if (host.traits.endsAtLimit === 'sandbox') {
        await expect(take).rejects.toThrow();
        await expectEnd(host, instance);
        return;
      }
      expect((await take).code).not.toBe(0);
      expect(await isAlive(instance)).toBe(true);
    });

    it('gives no more processor time than was asked for', async () => {
      const instance = await host.create({ limits: { ...limits, cpuCount: 0.5 } });
      const measureShare = async (): Promise<number> => {
        const before = await instance.usage();
        const started = performance.now();
        await runInside(
          instance,
          'for i in 1 2 3; do (timeout 1 sh -c "while :; do :; done" &) ; done; sleep 1.2',
        );
        const { cpuTimeMs } = await instance.usage();
        return (cpuTimeMs - before.cpuTimeMs) / (performance.now() - started);
      };
      // A busy host may not have even that much to give for a while.
      let share = 0;
      for (let turn = 0; turn < 10 && share < 0.2; turn++) {
        share = await measureShare();
        expect(share).toBeLessThan(0.65);
      }
      expect(share).toBeGreaterThan(0.2);
    });

    it('ends writing with "no space" at the size of the disk, and the agent still answers', async () => {
      const instance = await host.create();
      const fill = await runInside(
        instance,
        'head -c 200000000 /dev/zero > /root/big; wc -c < /root/big; sync',
      );
      expect(fill.output).toContain('No space left on device');
      expect(Number(/^\d+$/m.exec(fill.output)?.[0])).toBeLessThan(limits.diskBytes);
      expect(await isAlive(instance)).toBe(true);
    });

    it('bounds the number of files', async () => {
      const instance = await host.create();
      const fill = await runInside(
        instance,
        `mkdir /root/d; perl -e 'for (1..100000) { open(my $f, ">", "/root/d/$_") or die "$_ $!" }'`,
      );
      expect(fill.output).toContain('No space left on device');
      expect(await isAlive(instance)).toBe(true);
    });

    it('lets no sandbox use up what the kernel counts for each user', async () => {
      const [one, other] = await Promise.all([host.create(), host.create()]);
      const number = arch() === 'arm64' ? 26 : 294;
      const take = `perl -e 'while (syscall(${number}, 0) >= 0) { $n++; last if $n > 15000 } print "$n\\n"; sleep 3'`;
      // 15,000 watchers, or as many as one user may have.
      await runInside(one, `${take} >/root/taken 2>&1 </dev/null & sleep 0.5; cat /root/taken`);
      const { output } = await runInside(
        other,
        `perl -e 'print syscall(${number}, 0) >= 0 ? "watching" : $!'`,
      );
      expect(output).toBe('watching');
      expect((await host.create()).id).toBeTruthy();
    });

    it('contains a program that opens files without end', async () => {
      const instance = await host.create();
      const open = `perl -e 'while (open($f[$n], "<", "/dev/null")) { $n++ } print "$n $!"'`;
      const { output } = await runInside(instance, open);
      expect(output).toContain('Too many open files');
      expect(await isAlive(instance)).toBe(true);
    });

    it('bounds the folder that the agent shares with the host by the same disk', async () => {
      const instance = await host.create();
      const fill = await runInside(instance, 'head -c 200000000 /dev/zero > /run/envd/big');
      expect(fill.output).toContain('No space left on device');
    });
  });

  describe('kernel surface', () => {
    it('lets nothing through of what a hostile program tries, but what this driver names', async () => {
      const instance = await host.create({ limits: hostileLimits, network: { internet: true } });
      const found = await findThrough(
        async (program, argument) => {
          const file = '/root/hostile.py';
          const command = `cat > ${file} <<'END'\n${program}\nEND\npython3 ${file} '${argument}'`;
          return (await runInside(instance, command)).output;
        },
        { isEndedAtLimit: host.traits.endsAtLimit === 'sandbox' },
      );
      expect(found).toEqual(host.letsThrough);
      expect(await isAlive(instance)).toBe(true);
    });

    it('offers no device of the host', async () => {
      const instance = await host.create();
      const made = await runInside(instance, 'mknod /root/disk b 254 0; mknod /root/mem c 1 1; ls /root');
      expect(made.output).toContain('Operation not permitted');
      const { output } = await runInside(instance, 'find /dev -type b; ls -I core /dev');
      expect(output.trim().split('\n').sort()).toEqual(
        [
          ...host.traits.devices,
          ...['fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm'],
          ...['stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero'],
        ].sort(),
      );
    });

    it('gives root inside no capability outside its own namespace', async () => {
      const instance = await host.create();
      const { output } = await runInside(instance, 'cat /proc/self/uid_map; grep CapBnd /proc/self/status');
      const [map = '', bounding = ''] = output.trim().split('\n');
      expect(Number(map.trim().split(/\s+/)[1]) >= 100_000).toBe(host.traits.showsIdMap);
      const uids = await readSandboxUids(instance.id);
      expect(uids.length).toBeGreaterThan(0);
      expect(uids.filter((uid) => uid < 100_000)).toEqual([]);
      const mask = BigInt(`0x${bounding.split(/\s+/)[1]}`);
      const has = (bit: bigint): boolean => ((mask >> bit) & 1n) === 1n;
      // NET_ADMIN, NET_RAW, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_RESOURCE, MKNOD, BPF.
      expect([12n, 13n, 16n, 17n, 19n, 21n, 24n, 27n, 39n].filter(has)).toEqual([]);
    });
  });

  describe('what is visible', () => {
    it('shows no process of the host', async () => {
      const instance = await host.create();
      const { output } = await runInside(instance, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "');
      expect(output).toContain('/.envd/tini');
      expect(output).not.toContain('vitest');
      expect((await runInside(instance, `ls -d /proc/${process.pid}`)).code).not.toBe(0);
    });

    it('shows no file of the host and none of another sandbox', async () => {
      const [one, other] = await Promise.all([host.create(), host.create()]);
      const marker = join(host.dataDir, 'marker');
      await writeFile(marker, 'secret');
      await runInside(other, 'echo secret > /root/marker; echo secret > /dev/shm/marker');
      const { output } = await runInside(one, `cat ${marker} /root/marker /dev/shm/marker`);
      expect(output).not.toContain('secret');
      expect(output.match(/No such file/g)).toHaveLength(3);
    });

    it('never writes to the image', async () => {
      const [one, other] = await Promise.all([host.create(), host.create()]);
      await runInside(one, 'rm -rf /opt; echo changed > /etc/issue; chmod 777 /usr/bin');
      const { output } = await runInside(other, 'ls -d /opt; cat /etc/issue; stat -c %a /usr/bin');
      expect(output).toContain('/opt\n');
      expect(output).not.toContain('changed');
      expect(output).toContain('755');
    });

    it('lets setuid programs gain ids of the sandbox only', async () => {
      const instance = await host.create();
      const script = `perl -e 'chown 0, 0, "/root"; $> = 1000; print "$>"'; cp /usr/bin/id /usr/bin/rootid; chmod u+s /usr/bin/rootid`;
      await runInside(instance, script);
      const { output } = await runInside(instance, '/usr/bin/rootid -u; sleep 3 & echo pid $!', {
        uid: 1000,
      });
      expect(output.split('\n')[0]).toBe(host.traits.honoursSetuid ? '0' : '1000');
      const uids = await readSandboxUids(instance.id);
      expect(uids.length).toBeGreaterThan(0);
      expect(uids.every((uid) => uid >= 100_000)).toBe(true);
    });

    it('keeps the agent out of reach of ordinary users', async () => {
      const instance = await host.create();
      const attempts = ['kill -9 $PPID', 'kill -9 1', 'ls /run/envd', 'cat /proc/$PPID/mem'];
      const looks = ['ls /proc/$PPID/fd', 'cat /proc/$PPID/environ'];
      for (const attempt of [...attempts, ...looks]) {
        const isRefused = attempts.includes(attempt) || host.traits.hidesProcesses;
        const { code } = await runInside(instance, attempt, { uid: 1000 });
        expect({ attempt, isRefused: code !== 0 }).toEqual({ attempt, isRefused });
      }
      expect(await isAlive(instance)).toBe(true);
    });
  });

  it('is harmed by its own root alone', async () => {
    const [one, other] = await Promise.all([host.create(), host.create()]);
    // The agent's shell is the last that it sees; nobody is left to answer.
    await runInside(one, 'kill -9 -1; kill -9 $PPID').catch(() => undefined);
    await expect.poll(() => one.state()).toBe('stopped');
    expect(await isAlive(other)).toBe(true);
    expect(await isAlive(await host.create())).toBe(true);
  });

  describe('network', () => {
    it('has only loopback without internet', async () => {
      const instance = await host.create();
      const { output } = await runInside(instance, `${listInterfaces}; cat /proc/net/route`);
      expect(output.split('\n')[0]).toBe('lo');
      expect(output.trim().split('\n')).toHaveLength(2);
    });

    it('reaches neither the host nor another sandbox', async () => {
      const network = { internet: true };
      const [one, other] = await Promise.all([host.create({ network }), host.create({ network })]);
      const accepted: string[] = [];
      const server = createServer((socket) => {
        accepted.push(socket.remoteAddress ?? '');
        socket.end('reached');
      });
      const port = await listen(server);
      try {
        const address = async (instance: typeof one): Promise<{ own: string; gateway: string }> => {
          const { output } = await runInside(
            instance,
            `LD_LIBRARY_PATH=/.envd/lib /.envd/node -p 'require("os").networkInterfaces().eth0[0].address'; cat /proc/net/route`,
          );
          const hex = /^eth0\t00000000\t([0-9A-F]{8})/m.exec(output)?.[1] ?? '';
          const gateway = [...Buffer.from(hex, 'hex')].reverse().join('.');
          return { own: output.split('\n')[0] ?? '', gateway };
        };
        const theirs = await address(other);
        const ours = await address(one);
        const listener = `require('net').createServer((s) => s.end('reached')).listen(7000)`;
        await runInside(
          other,
          `LD_LIBRARY_PATH=/.envd/lib setsid /.envd/node -e "${listener}" >/dev/null 2>&1 </dev/null & sleep 0.4`,
        );
        expect(await tryConnect(other, '127.0.0.1', 7000)).toContain('reached');
        for (const [address, target] of [
          [theirs.own, 7000],
          [ours.gateway, port],
          ['169.254.169.254', 80],
          ['10.0.0.1', 80],
        ] as const) {
          expect(await tryConnect(one, address, target)).not.toContain('reached');
        }
        expect(accepted).toEqual([]);
      } finally {
        server.close();
      }
    });
  });

  agentFolderSuite(host);
};

/** It is over, and in nobody's way: what is left of it can be removed, and another one begins. */
const expectEnd = async (host: SuiteHost, instance: Instance): Promise<void> => {
  await expect.poll(() => instance.state(), { timeout: 20_000 }).toBe('stopped');
  await instance.stop();
  await expect.poll(() => host.traces(), { timeout: 10_000, interval: 20 }).toEqual([]);
  expect((await runInside(await host.create(), 'echo alive')).output).toBe('alive\n');
};

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '0.0.0.0', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });

const tryConnect = async (
  instance: Parameters<typeof runInside>[0],
  address: string,
  port: number,
): Promise<string> => {
  const script = `const s = require('net').connect(${port}, '${address}'); s.setTimeout(1500, () => s.destroy(new Error('timeout'))); s.on('data', (d) => console.log(String(d))); s.on('error', (e) => console.log(e.code || e.message))`;
  const { output } = await runInside(instance, `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "${script}"`);
  return output;
};

/** The real uids, as the host sees them, of all processes of a sandbox. */
const readSandboxUids = async (id: string): Promise<number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const uids: number[] = [];
  for (const pid of pids) {
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    if (!cgroup.includes(`/${id}\n`)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const uid = /^Uid:\s+(\d+)/m.exec(status)?.[1];
    if (uid !== undefined) uids.push(Number(uid));
  }
  return uids;
};
