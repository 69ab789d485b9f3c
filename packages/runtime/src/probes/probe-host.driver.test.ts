import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareCriu } from '../drivers/oci/criu/prepare-criu.ts';
import { prepareRunsc } from '../drivers/oci/gvisor/prepare-runsc.ts';
import { inPrivateMounts } from '../kernel/private-mounts.ts';
import { MountFlag, mount } from '../kernel/syscalls.ts';
import type { ProbeResult } from '../probe.ts';
import { prepareSuiteBundle } from '../suite/agent.ts';
import { openCheckout } from '../suite/checkout.ts';
import { findTraces } from '../suite/traces.ts';
import { probeHost } from './probe-host.ts';

let dir: string;
let bundles: string;
let agentBundle: string;
let criuDir: string;
let runscPath: string;
let results: ProbeResult[];
beforeAll(async () => {
  const targetDir = '/var/cache/skerry';
  [criuDir, runscPath] = await Promise.all([prepareCriu({ targetDir }), prepareRunsc({ targetDir })]);
  bundles = await mkdtemp(join(tmpdir(), 'probes-agent-'));
  // On a disk, as a data folder should be.
  dir = await mkdtemp('/var/tmp/probes-');
  agentBundle = await prepareSuiteBundle(bundles);
  results = await Array.fromAsync(probeHost({ agentBundle, scratchDir: dir, criuDir, runscPath }));
});
afterAll(async () => {
  for (const path of [dir, bundles]) await rm(path, { recursive: true, force: true });
});

const find = (name: string): ProbeResult | undefined => results.find((result) => result.name === name);

/** Probes, as root or another user, a host that lacks the files of these patterns. */
async function probeWithout(
  patterns: readonly string[],
  user?: { uid: number; gid: number },
): Promise<ProbeResult[]> {
  const module = fileURLToPath(new URL('./probe-host.ts', import.meta.url));
  const script = `import { probeHost } from ${JSON.stringify(module)}; console.log(JSON.stringify(await Array.fromAsync(probeHost(${JSON.stringify({ agentBundle, scratchDir: dir, criuDir, runscPath })}))));`;
  const prepare = (): void => {
    for (const target of globSync(patterns))
      mount({ source: '/dev/null', target, type: 'none', flags: MountFlag.bind, data: '' });
    if (user) openCheckout();
  };
  const begin = () =>
    promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', script], { ...user });
  const { stdout } = await inPrivateMounts(prepare, begin);
  return JSON.parse(stdout) as ProbeResult[];
}

describe('probeHost', () => {
  it('finds everything on a host that runs the other tests of this package', () => {
    expect(results.filter(({ ok, needed }) => needed && !ok)).toEqual([]);
    // A setting of some hosts.
    const names = results.map(({ name }) => name).filter((name) => name !== 'file-max');
    expect(names).toEqual([
      'root',
      'kernel',
      'tini',
      'seccomp',
      'mmdebstrap',
      'disk',
      'user xattrs',
      'overlay',
      'socket memory',
      'network',
      'forwarding',
      'name servers',
      'crun',
      'runc',
      'memory',
      'gvisor',
      'gvisor memory',
      ...['kernel', 'runsc', 'criu', 'node'].map((program) => `${program} version`),
    ]);
  });

  it('says of each version whether it is safe, and only warns of one that is not', () => {
    const versions = results.filter(({ name }) => name.endsWith(' version'));
    expect(versions.filter(({ needed, found }) => needed || found.includes('\n'))).toEqual([]);
    expect(find('criu version')?.found).toMatch(/^4\.\d/);
    expect(find('node version')?.found).toContain(process.versions.node);
  });

  it('has really started a sandbox', () => {
    expect(find('crun')?.found).toMatch(
      /crun version \S+ starts a sandbox in \d+ ms, limits hold by cgroups/,
    );
  });

  it.each(['memory', 'gvisor memory'])('has really paused a sandbox with its memory: %s', (name) => {
    expect(find(name)?.found).toMatch(/a sandbox is paused with its memory in \d+ ms and resumes in \d+ ms/);
  });

  it('has really started a sandbox with a kernel of its own', () => {
    expect(find('gvisor')?.found).toMatch(
      /runsc version \S+ starts a sandbox in \d+ ms, limits hold by cgroups/,
    );
  });

  it('leaves nothing behind', async () => {
    expect(await readdir(dir)).toEqual([]);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(dir);
    expect(await findTraces({ dataDir: dir, ids: [`probe${process.pid}`] })).toEqual([]);
  });

  it('names the line that installs what is missing', async () => {
    const hidden = ['/usr/bin/crun', '/usr/lib/*/libnftables.so.1', '/usr/sbin/mkfs.ext4'];
    const without = await probeWithout(hidden);
    const off = without.filter(({ ok }) => !ok);
    expect(Object.fromEntries(off.map(({ name, mend }) => [name, mend]))).toMatchObject({
      crun: 'apt-get install -y crun',
      network: 'apt-get install -y libnftables1',
      disk: 'apt-get install -y e2fsprogs',
    });
    expect(off.every(({ found }) => found.length > 10 && !found.includes('\n'))).toBe(true);
  });

  it('names to an ordinary user the lines that provide what their sandboxes lack', async () => {
    const nobody = { uid: 65_534, gid: 65_534 };
    const found = await probeWithout(['/usr/bin/newuidmap', '/etc/subuid'], nobody);
    const off = found.filter(({ ok }) => !ok);
    expect(Object.fromEntries(off.map(({ name, mend }) => [name, mend]))).toMatchObject({
      root: 'run skerry as root: sudo skerry',
      subuids: 'usermod --add-subuids 100000-165535 nobody',
      uidmap: 'apt-get install -y uidmap',
    });
    expect(off.find(({ name }) => name === 'root')?.needed).toBe(false);
    const others = off.filter(({ name }) => name !== 'root' && name !== 'inotify');
    expect(others.every(({ needed }) => needed)).toBe(true);
    expect(found.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['subgids', 'namespaces', 'slirp4netns', 'tun']),
    );
  });
});
