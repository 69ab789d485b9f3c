import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CgroupLayout } from './cgroup.ts';

/**
 * Makes what tells the kernel that a process is about to join a cgroup. Whoever joins first after a while waits until all
 * processors have heard of it, some 10 ms, and who comes within as long again does not (`cgroup_threadgroup_rwsem`, rcu/sync.c of
 * the kernel): this process joins the group that it is in, beside whatever else is to be done before. Waits for nothing.
 */
export const createExpectJoin = (layout: CgroupLayout): (() => void) => {
  let isJoining = false;
  const join = async (): Promise<void> => {
    isJoining = true;
    try {
      const members = toOwnMembers(layout, readFileSync('/proc/self/cgroup', 'utf8'));
      await writeFile(members, String(process.pid), { flag: 'r+' });
    } catch {
      // Where this process may not, whoever joins waits as without it.
    } finally {
      isJoining = false;
    }
  };
  return () => {
    if (!isJoining) void join();
  };
};

/** The file of the members of the group that a process is in; `groups` is its `/proc/PID/cgroup`, see cgroups(7). */
export const toOwnMembers = ({ version, trees }: CgroupLayout, groups: string): string => {
  const isPids = (names: string): boolean => names.split(',').includes('pids');
  const tree = version === 2 ? trees[0] : trees.find((folder) => isPids(basename(folder)));
  const entries = groups.split('\n').map((line) => /^\d+:([^:]*):\/?(.*)$/.exec(line));
  const own = entries.find((entry) => (version === 2 ? entry?.[1] === '' : isPids(entry?.[1] ?? '')));
  return [tree, own?.[2], 'cgroup.procs'].filter(Boolean).join('/');
};
