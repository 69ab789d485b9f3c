/**
 * Program: Linux
 * Does: Writes this process into the cgroup that it is in already, shortly before a sandbox's first process joins its
 * own.
 * Why not the promised way: Joining takes a lock of the kernel that is slow when it was not taken for a while: the
 * first to join waits until all processors have taken notice, some 10 ms. `favordynmods` avoids it, for all of the host
 * and since Linux 6.0.
 * Source: https://github.com/torvalds/linux/blob/v6.12/kernel/rcu/sync.c, `cgroup_threadgroup_rwsem` in
 * kernel/cgroup/cgroup.c
 * When it no longer fits: A sandbox starts as without it, some 10 ms later.
 * Test: expect-join.test.ts
 * Bench row: create.cold
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CgroupLayout } from '../cgroup.ts';

/**
 * Creates a function that announces to the kernel that a process is about to join a cgroup. The first join after a
 * while waits for all processors, some 10 ms, and a join within as long again does not (`cgroup_threadgroup_rwsem`,
 * rcu/sync.c of the kernel): this process joins the group that it is in, beside other preparations. Waits for nothing.
 */
export const createExpectJoin = (layout: CgroupLayout): (() => void) => {
  let isJoining = false;
  const join = async (): Promise<void> => {
    isJoining = true;
    try {
      const members = toOwnMembers(layout, readFileSync('/proc/self/cgroup', 'utf8'));
      await writeFile(members, String(process.pid), { flag: 'r+' });
    } catch {
      // Where this process may not, the next join waits as usual.
    } finally {
      isJoining = false;
    }
  };
  return () => {
    if (!isJoining) void join();
  };
};

/** The `cgroup.procs` file of the group that a process is in; `groups` is its `/proc/PID/cgroup`, see cgroups(7). */
export const toOwnMembers = ({ version, trees }: CgroupLayout, groups: string): string => {
  const isPids = (names: string): boolean => names.split(',').includes('pids');
  const tree = version === 2 ? trees[0] : trees.find((folder) => isPids(basename(folder)));
  const entries = groups.split('\n').map((line) => /^\d+:([^:]*):\/?(.*)$/.exec(line));
  const own = entries.find((entry) => (version === 2 ? entry?.[1] === '' : isPids(entry?.[1] ?? '')));
  return [tree, own?.[2], 'cgroup.procs'].filter(Boolean).join('/');
};
