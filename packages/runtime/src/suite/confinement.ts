import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPEN_NETWORK } from '../network/policy.ts';
import { agentFolderSuite } from './agent-folder.ts';
import { isAlive, runInside } from './client.ts';
import { findThrough, hostileLimits } from './hostile.ts';
import { limitsSuite } from './limits.ts';
import { networkSuite } from './network.ts';
import type { SuiteHost } from './suite-host.ts';
import { surfaceSuite } from './surface.ts';

/** What must hold for any hostile code inside. Each probe is code that runs inside and tries. */
export const confinementSuite = (host: SuiteHost): void => {
  surfaceSuite(host);

  describe('kernel surface', () => {
    it('refuses everything that a hostile program tries, except what this driver names', async () => {
      const instance = await host.create({ limits: hostileLimits, network: OPEN_NETWORK });
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

    it('shows no device of the host', async () => {
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

    it('grants root inside no capability outside its own namespace', async () => {
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

    it('limits setuid programs to ids of the sandbox', async () => {
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

    it('protects the agent from ordinary users', async () => {
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
    // The shell is a child of the agent; no process is left to answer.
    await runInside(one, 'kill -9 -1; kill -9 $PPID').catch(() => undefined);
    await expect.poll(() => one.state()).toBe('stopped');
    expect(await isAlive(other)).toBe(true);
    expect(await isAlive(await host.create())).toBe(true);
  });

  limitsSuite(host);
  networkSuite(host);
  if (host.isFull) agentFolderSuite(host);
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
