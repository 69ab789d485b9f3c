import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CgroupLayout, openCgroup } from './cgroup.ts';
import { makeCgroup, toUnifiedSettings } from './make-cgroup.ts';
import { allowDevices } from './workarounds/device-program.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 0.5, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** The version 2 tree of this host, alone or beside those of version 1. */
const root =
  /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1] ?? '';
const layout: CgroupLayout = { version: 2, hybrid: false, trees: [root], limitsSwap: true };
const parent = `skerry-test-${process.pid}`;

describe('a cgroup of version 2', () => {
  beforeEach((context) => {
    if (root === '') context.skip('this host has no tree of version 2');
  });
  beforeAll(() => {
    if (root !== '') mkdirSync(`${root}/${parent}/one`, { recursive: true });
  });
  afterAll(async () => {
    if (root === '') return;
    await openCgroup(layout, parent, 'one').remove();
    rmdirSync(`${root}/${parent}`);
  });

  /** Runs a shell in the group and resolves with its output. */
  const say = async (script: string): Promise<string> => {
    const join = `echo $$ > ${root}/${parent}/one/cgroup.procs`;
    const child = spawn('sh', ['-c', `${join}; ${script}`], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await once(child, 'close');
    return said;
  };

  it('freezes and thaws its members, and kills them while they are frozen and while they start others', async () => {
    const cgroup = openCgroup(layout, parent, 'one');
    expect(await cgroup.state()).toBe('stopped');
    const spawner = say('while :; do /bin/true; done');
    await expect.poll(() => cgroup.state()).toBe('running');
    for (let turn = 0; turn < 50; turn++) {
      await cgroup.freeze();
      expect(await cgroup.state()).toBe('paused');
      await cgroup.thaw();
    }
    expect(await cgroup.members()).not.toEqual([]);
    await cgroup.freeze();
    while (await cgroup.kill());
    expect(await spawner).toBe('');
    expect(await cgroup.state()).toBe('stopped');
    await cgroup.thaw();
  });

  it('allows its members no device but the usable ones', async () => {
    const open = (path: string) => `(: < ${path}) 2>/dev/null && echo -n "${path} "; `;
    const before = await say(['/dev/null', '/dev/kmsg'].map(open).join(''));
    expect(before).toBe('/dev/null /dev/kmsg ');
    allowDevices(`${root}/${parent}/one`);
    const usable = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'];
    const refused = ['/dev/kmsg', '/dev/mem', '/dev/loop-control'].filter((path) => existsSync(path));
    expect(await say([...usable, ...refused].map(open).join(''))).toBe(`${usable.join(' ')} `);
    const terminal = `python3 -c 'import os; print(len(os.openpty()))'`;
    expect(await say(terminal)).toBe('2\n');
  });

  it('gets the limits that a bundle asks for, and is refused where the host cannot enforce them', async () => {
    expect(toUnifiedSettings(layout, limits)).toEqual({
      'memory.max': '268435456',
      'memory.swap.max': '0',
      'cpu.max': '50000 100000',
      'pids.max': '64',
    });
    const offered = readFileSync(`${root}/cgroup.controllers`, 'utf8').trim().split(' ');
    const path = `/${parent}/one`;
    if (['memory', 'cpu', 'pids'].every((controller) => offered.includes(controller))) {
      expect(await makeCgroup(layout, path, limits)).toEqual([`${root}${path}/cgroup.procs`]);
      for (const [file, value] of Object.entries(toUnifiedSettings({ limitsSwap: false }, limits)))
        expect(readFileSync(`${root}${path}/${file}`, 'utf8').trim()).toBe(value);
    } else {
      await expect(makeCgroup(layout, path, limits)).rejects.toMatchObject({ code: 'unsupported' });
    }
  });
});
