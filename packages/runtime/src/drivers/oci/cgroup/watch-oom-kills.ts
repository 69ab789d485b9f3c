import { readFileSync } from 'node:fs';

/**
 * Counts kills by the OOM killer in this process's cgroup, or in the version 2 cgroup at `folder`, from now on: a
 * program whose child was killed only reports that it failed. The returned function reports whether a process was
 * killed since.
 */
export const watchOomKills = (folder?: string): (() => boolean) => {
  const before = countOomKills(folder);
  return () => countOomKills(folder) > before;
};

/** All kills so far; 0 where they are not counted. */
const countOomKills = (folder: string | undefined): number => {
  try {
    const path = folder
      ? `${folder}/memory.events.local`
      : findEvents(readFileSync('/proc/self/cgroup', 'utf8'));
    const events = readFileSync(path, 'utf8');
    return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
  } catch {
    // The host has no memory cgroups, or this process cannot see them.
    return 0;
  }
};

/** cgroups(7), cgroup-v1/memory.rst, cgroup-v2.rst of the kernel. */
const findEvents = (groups: string): string => {
  const own = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$/m.exec(groups)?.[1];
  if (own !== undefined) return `/sys/fs/cgroup/memory${own}/memory.oom_control`;
  return `/sys/fs/cgroup${/^0::(.*)$/m.exec(groups)?.[1] ?? ''}/memory.events.local`;
};
