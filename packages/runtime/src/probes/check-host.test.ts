import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProbeResult } from '../probe.ts';
import { checkHost } from './check-host.ts';
import { readHostFacts } from './host-facts.ts';
import { toNamespaceMend } from './user.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'check-host-'));
  await host({
    'proc/sys/kernel/osrelease': '6.1.0-37-amd64\n',
    'proc/sys/user/max_user_namespaces': '63359\n',
    'proc/meminfo': 'MemTotal:        8048576 kB\nSwapTotal:             0 kB\nHugePages_Total:       0\n',
  });
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Files of a host, as its kernel or its system writes them. */
const host = async (files: Record<string, string>): Promise<void> => {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
};

const check = (options: { rootless?: boolean; limitsSwap?: boolean } = {}): ProbeResult[] =>
  checkHost({ rootless: false, ...options, facts: readHostFacts(root) });

const off = (results: ProbeResult[]): ProbeResult[] => results.filter(({ ok }) => !ok);

describe('the facts of a host', () => {
  it('name a host whose users have so few inotify instances that rootless sandboxes run out of them', async () => {
    await host({ 'proc/sys/fs/inotify/max_user_instances': '128\n' });
    expect(off(check({ rootless: true }))).toMatchObject([{ name: 'inotify', needed: false }]);
    expect(off(check())).toEqual([]);
    await host({ 'proc/sys/fs/inotify/max_user_instances': '8192\n' });
    expect(off(check({ rootless: true }))).toEqual([]);
  });

  it('name a host that allows so few open files that one sandbox can use most of them', async () => {
    await host({ 'proc/sys/fs/file-max': '2466193\n' });
    expect(off(check())).toMatchObject([{ name: 'file-max', needed: false }]);
    expect(off(check({ rootless: true }))).toEqual([]);
    await host({ 'proc/sys/fs/file-max': '9223372036854775807\n' });
    expect(off(check())).toEqual([]);
  });

  it('yield nothing but the kernel on a host without obstacles', () => {
    const kernel = { name: 'kernel', ok: true, needed: true, found: 'Linux 6.1.0-37-amd64' };
    expect(check()).toEqual([kernel]);
    expect(check({ rootless: true })).toEqual([kernel]);
  });

  it.each([
    ['5.10.0-35-amd64', false, '5.19'],
    ['5.18.19', false, '5.19'],
    ['4.19.0', true, '5.14'],
  ])('refuses Linux %s (rootless: %s), and names the version needed', async (release, rootless, least) => {
    await host({ 'proc/sys/kernel/osrelease': `${release}\n` });
    const [kernel] = off(check({ rootless }));
    expect(kernel).toMatchObject({ name: 'kernel', needed: true });
    expect(kernel?.found).toContain(`Linux ${release} is too old`);
    expect(kernel?.found).toContain(`${least} or newer`);
    expect(kernel?.mend).toContain('linux-image-amd64');
  });

  it.each(['5.19.0', '5.19-rc1', '6.18.5', '10.0'])('accepts Linux %s', async (release) => {
    await host({ 'proc/sys/kernel/osrelease': `${release}\n` });
    expect(off(check())).toEqual([]);
  });

  it('reject a host without user namespaces, and name the setting', async () => {
    await host({ 'proc/sys/user/max_user_namespaces': '0\n' });
    expect(off(check())).toMatchObject([{ name: 'user namespaces', needed: true }]);
    expect(off(check())[0]?.mend).toContain('user.max_user_namespaces=65536');
  });

  it('reject SELinux in enforcing mode, and accept the permissive one', async () => {
    await host({ 'sys/fs/selinux/enforce': '1' });
    expect(off(check())).toMatchObject([{ name: 'selinux', needed: true }]);
    await host({ 'sys/fs/selinux/enforce': '0' });
    expect(off(check())).toEqual([]);
  });

  it('report what allows a sandbox more than its memory: swap that is not counted, and hugepages', async () => {
    await host({ 'proc/meminfo': 'MemTotal: 8048576 kB\nSwapTotal: 1024 kB\nHugePages_Total:     512\n' });
    expect(off(check({ limitsSwap: true })).map(({ name }) => name)).toEqual(['hugepages']);
    expect(off(check({ limitsSwap: false }))).toMatchObject([
      { name: 'swap', needed: false },
      { name: 'hugepages', needed: false, mend: expect.stringContaining('vm.nr_hugepages=0') as string },
    ]);
  });

  it('report that a host of 1 GiB needs smaller sandboxes', async () => {
    await host({ 'proc/meminfo': 'MemTotal:         985432 kB\n' });
    expect(off(check())).toMatchObject([{ name: 'host memory', needed: false }]);
    expect(off(check())[0]?.found).toContain('962 MiB');
    expect(off(check())[0]?.mend).toContain('--base-memory');
  });

  it('name the file that excludes the links from NetworkManager, until it exists', async () => {
    await host({ 'run/NetworkManager/pid': '1', 'etc/NetworkManager/conf.d/wifi.conf': '[connection]\n' });
    expect(off(check())).toMatchObject([{ name: 'NetworkManager', needed: false }]);
    await host({
      'etc/NetworkManager/conf.d/skerry.conf': '[keyfile]\nunmanaged-devices=interface-name:skv*\n',
    });
    expect(off(check())).toEqual([]);
  });

  it('name the settings that refuse namespaces to ordinary users', async () => {
    expect(toNamespaceMend(readHostFacts(root))).toContain('a security module refuses');
    await host({
      'proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n',
      'proc/sys/kernel/unprivileged_userns_clone': '0\n',
    });
    expect(toNamespaceMend(readHostFacts(root))).toBe(
      "printf 'kernel.apparmor_restrict_unprivileged_userns=0\\nkernel.unprivileged_userns_clone=1\\n' >> /etc/sysctl.d/99-skerry.conf && sysctl -p /etc/sysctl.d/99-skerry.conf",
    );
  });

  it('are read from this host', () => {
    const facts = readHostFacts();
    expect(facts.kernelRelease).toMatch(/^\d+\.\d+/);
    expect(facts.memoryBytes).toBeGreaterThan(2 ** 28);
    expect(facts.setting('kernel.pid_max')).toBeGreaterThan(0);
    expect(facts.setting('kernel.no_such_setting')).toBeUndefined();
  });
});
