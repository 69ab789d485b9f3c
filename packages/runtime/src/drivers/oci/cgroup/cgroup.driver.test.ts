import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rmdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openCgroup, readCgroupLayout } from './cgroup.ts';

const layout = readCgroupLayout();
const parent = `skerry-test-${process.pid}`;
const cgroup = openCgroup(layout, parent, 'spawners');

it('freezes programs that start others all the time, in any system call', async () => {
  const trees = layout.trees.filter((tree) => layout.version === 2 || /\/(freezer|pids)$/.test(tree));
  for (const tree of trees) await mkdir(`${tree}${cgroup.path}`, { recursive: true });
  const join = trees.map((tree) => `echo $$ > ${tree}${cgroup.path}/cgroup.procs`).join('; ');
  const spawners = Array.from({ length: 4 }, () =>
    spawn('sh', ['-c', `${join}; echo ready; while :; do /bin/true; done`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  try {
    await Promise.all(spawners.map(({ stdout }) => once(stdout, 'data')));
    for (let turn = 0; turn < 400; turn++) {
      await cgroup.freeze();
      expect(await cgroup.state()).toBe('paused');
      await cgroup.thaw();
    }
  } finally {
    const ends = spawners.map((spawner) => once(spawner, 'close'));
    while (await cgroup.kill());
    await Promise.all(ends);
    await cgroup.remove();
    for (const tree of trees) await rmdir(`${tree}/${parent}`);
  }
});
