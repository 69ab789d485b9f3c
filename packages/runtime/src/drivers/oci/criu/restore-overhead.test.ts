import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CgroupLayout } from '../cgroup/cgroup.ts';
import { hasOomKill, removeRestoreOverhead, toSlackBytes } from './restore-overhead.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** Files instead of a cgroup: the tests check what is written and when, not what a kernel makes of it. */
describe('the limits of a cgroup of version 2 after a restore', () => {
  let root: string;
  let layout: CgroupLayout;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'restore-overhead-'));
    layout = { version: 2, hybrid: false, trees: [root], limitsSwap: true };
    await mkdir(`${root}/one`);
  });
  afterEach(() => rm(root, { recursive: true }));

  const use = (bytes: number): Promise<void> => writeFile(`${root}/one/memory.current`, String(bytes));
  const readAll = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(`${root}/one`)).map(
          async (name): Promise<[string, string]> => [name, await readFile(`${root}/one/${name}`, 'utf8')],
        ),
      ),
    );

  it('are those of the sandbox, without throttling', async () => {
    await use(256 * MIB);
    await removeRestoreOverhead(layout, '/one', limits);
    expect(await readAll()).toEqual({
      'memory.current': '268435456',
      'memory.high': 'max',
      'memory.max': '268435456',
      'pids.max': '64',
    });
  });

  it('are a little higher where that much is needed', async () => {
    await use(256 * MIB + 1);
    await removeRestoreOverhead(layout, '/one', limits);
    expect(await readAll()).toMatchObject({ 'memory.high': 'max', 'memory.max': String(264 * MIB) });
  });

  it('are not set where the kernel would kill for them', async () => {
    await use(256 * MIB + toSlackBytes(limits) + 1);
    await expect(removeRestoreOverhead(layout, '/one', limits)).rejects.toMatchObject({ code: 'internal' });
    expect(Object.keys(await readAll())).not.toContain('memory.max');
  });

  it('report a kill', async () => {
    expect(await hasOomKill(layout, '/one')).toBe(false);
    const events = (killed: number): string => `low 0\nmax 9\noom 1\noom_kill ${killed}\noom_group_kill 0\n`;
    for (const killed of [0, 2]) {
      await writeFile(`${root}/one/memory.events`, events(killed));
      expect(await hasOomKill(layout, '/one')).toBe(killed > 0);
    }
  });
});

it('are not lowered where the host limits nothing', async () => {
  const layout: CgroupLayout = { version: 1, hybrid: false, trees: [], limitsSwap: false };
  await removeRestoreOverhead(layout, '/one', limits);
  expect(await hasOomKill(layout, '/one')).toBe(false);
});
