import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Where a host that has cgroups of version 2 alone mounts them. */
export const unifiedRoot = '/sys/fs/cgroup';

const CGROUP2_SUPER_MAGIC = 0x63677270;

export const hasUnifiedGroups = (): boolean => {
  try {
    return statfsSync(unifiedRoot).type === CGROUP2_SUPER_MAGIC;
  } catch {
    return false; // The host has no cgroups, or does not mount them.
  }
};

/** The version 2 cgroup of a process, as a path below the root, from the text of `/proc/PID/cgroup`: cgroups(7). */
export const parseUnifiedGroup = (text: string): string | undefined => /^0::(\/.*)$/m.exec(text)?.[1];

/** The version 2 cgroup of a process; undefined for a process that has ended, and where there is none. */
export const readUnifiedGroup = (pid: number): string | undefined => {
  try {
    return parseUnifiedGroup(readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
  } catch {
    return undefined; // The process has ended.
  }
};

/** The controllers that the parent group delegates to this one. */
export const readControllers = (folder: string): string[] =>
  readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ').filter(Boolean);

/** The group that two groups have in common, which may be one of them: each is a path below the root. */
export const toCommonGroup = (one: string, other: string): string => {
  const [left, right] = [one, other].map((path) => path.split('/').filter(Boolean)) as [string[], string[]];
  const end = left.findIndex((name, index) => name !== right[index]);
  return `/${left.slice(0, end === -1 ? left.length : end).join('/')}`;
};

/**
 * Whether this process may move another from `from` to `to`: the kernel requires write access to `cgroup.procs` of
 * their common ancestor, and of `to` (cgroup-v2.rst, Delegation Containment).
 */
export const mayMove = ({
  from,
  to,
  root = unifiedRoot,
}: {
  from: string;
  to: string;
  root?: string;
}): boolean => [toCommonGroup(from, to), to].every((group) => isWritable(join(root, group, 'cgroup.procs')));

const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false; // The group does not exist, or is not this user's.
  }
};

/** Makes the group below `folder` when it does not exist, and resolves with its folder. */
export const ensureGroup = (folder: string, name: string): string => {
  const path = join(folder, name);
  if (!existsSync(path)) mkdirSync(path, { recursive: true });
  return path;
};

/** A group that delegates controllers has no members of its own, so each process must be in one below. */
export const moveToGroup = (folder: string, pid: number): void => {
  writeFileSync(join(folder, 'cgroup.procs'), String(pid));
};
