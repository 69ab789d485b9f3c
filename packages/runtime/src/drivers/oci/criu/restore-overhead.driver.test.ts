import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCgroup, readCgroupLayout, removeCgroupParent } from '../cgroup/cgroup.ts';
import { makeCgroup } from '../cgroup/make-cgroup.ts';
import { addRestoreOverhead, hasOomKill, removeRestoreOverhead, toSlackBytes } from './restore-overhead.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 1, memoryBytes: 64 * MIB, diskBytes: 64 * MIB, processCount: 16 };
const layout = readCgroupLayout();
const parent = `skerry-room-${process.pid}`;
const cgroup = openCgroup(layout, parent, 'one');

describe('a cgroup after a restore in it', () => {
  let files: string[];
  beforeEach(async () => {
    files = await makeCgroup(layout, cgroup.path, addRestoreOverhead(limits, { processCount: 1 }));
  });
  afterEach(async () => {
    while (await cgroup.kill());
    await cgroup.remove();
    removeCgroupParent(layout, parent);
  });

  /** Starts a program in it that has so much memory of its own, and resolves when it has allocated it. */
  const take = async (bytes: number): Promise<void> => {
    const program = `import time; held = bytearray(b"x") * ${bytes}; print("taken", flush=True); time.sleep(1000)`;
    const child = spawn('python3', ['-'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await Promise.all(files.map((file) => writeFile(file, String(child.pid))));
    child.stdin.end(program);
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    await cgroup.freeze();
  };

  const read = (name: string): Promise<string> => {
    const [members = ''] = files.filter((file) => layout.version === 2 || file.includes('/memory/'));
    return readFile(members.replace('cgroup.procs', name), 'utf8');
  };
  const readLimit = async (): Promise<number> =>
    Number(await read(layout.version === 2 ? 'memory.max' : 'memory.limit_in_bytes'));
  /** The memory that cannot be reclaimed. */
  const readHeld = async (): Promise<number> => {
    const used = Number(await read(layout.version === 2 ? 'memory.current' : 'memory.usage_in_bytes'));
    const cached = (await read('memory.stat')).matchAll(/^(?:in)?active_file (\d+)$/gm);
    return [...cached].reduce((held, [, bytes]) => held - Number(bytes), used);
  };

  it('has the limit of its sandbox, or a little more where the processes need that, and no process is killed', async () => {
    await take(limits.memoryBytes - 16 * MIB);
    const held = await readHeld();
    const lower = (moreBytes: number): Promise<void> =>
      removeRestoreOverhead(layout, cgroup.path, { ...limits, memoryBytes: held + moreBytes });
    const before = await readLimit();
    await expect(lower(-8 * MIB)).rejects.toMatchObject({ code: 'internal' });
    expect(await readLimit()).toBe(before);
    const short = held - MIB / 2;
    await lower(-MIB / 2);
    const slackBytes = toSlackBytes({ ...limits, memoryBytes: short });
    // The limit has no slack when the kernel could reclaim that much.
    expect(await readLimit()).toBeOneOf([short, short + slackBytes].map(toPages));
    await lower(MIB / 2);
    expect(await readLimit()).toBe(toPages(held + MIB / 2));
    expect(await cgroup.members()).toHaveLength(1);
    expect(await hasOomKill(layout, cgroup.path)).toBe(false);
  });

  it('reports that its limit has killed a process', async () => {
    await take(addRestoreOverhead(limits, { processCount: 1 }).memoryBytes + 8 * MIB);
    await expect.poll(() => hasOomKill(layout, cgroup.path)).toBe(true);
  });
});

/** Rounds a limit to pages, as the kernel does. */
const toPages = (bytes: number): number => bytes - (bytes % 4096);
