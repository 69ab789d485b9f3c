import { expect, it } from 'vitest';
import { toOwnMembers } from './expect-join.ts';

const layout = { hybrid: false, limitsSwap: false };

it('finds the group of a process in the tree that counts its processes', () => {
  const groups = '9:name=systemd:/a\n8:pids:/b/c\n4:memory:/d\n0::/e\n';
  const trees = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'];
  expect(toOwnMembers({ ...layout, version: 1, trees }, groups)).toBe('/sys/fs/cgroup/pids/b/c/cgroup.procs');
});

it('finds it where controllers share a tree, and at its root', () => {
  const trees = ['/sys/fs/cgroup/cpu,pids'];
  expect(toOwnMembers({ ...layout, version: 1, trees }, '8:cpu,pids:/\n')).toBe(
    '/sys/fs/cgroup/cpu,pids/cgroup.procs',
  );
});

it('finds it in the one tree of version 2, whatever its name', () => {
  const groups = '0::/user.slice/a:b.scope\n';
  expect(toOwnMembers({ ...layout, version: 2, trees: ['/sys/fs/cgroup'] }, groups)).toBe(
    '/sys/fs/cgroup/user.slice/a:b.scope/cgroup.procs',
  );
});
