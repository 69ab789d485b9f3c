import type { ServerResponse } from 'node:http';
import type { HostUsage } from '../host-usage.ts';
import { replyJson } from './reply.ts';

const MIB = 2 ** 20;
/** The maximum of kills in one answer: the last ones. */
const MAX_KILLS = 100;

/** Answers with the current usage of this sandbox. Rejects with `unavailable` when the host does not report it. */
export const replyMetrics = async (res: ServerResponse, usage: HostUsage): Promise<void> => {
  const now = await usage.ask();
  replyJson(res, 200, {
    ts: Math.floor(now.timestampMs / 1000),
    cpu_count: now.cpuCount,
    cpu_used_pct: now.cpuUsedPct,
    mem_total: now.memoryTotalBytes,
    mem_used: now.memoryUsedBytes,
    mem_cache: now.memoryCacheBytes,
    mem_total_mib: Math.floor(now.memoryTotalBytes / MIB),
    mem_used_mib: Math.floor(now.memoryUsedBytes / MIB),
    disk_used: now.diskUsedBytes,
    disk_total: now.diskTotalBytes,
    ...(now.oomKills === undefined ? {} : { oom_kills: toKills(now.oomKills) }),
  });
};

/** The kernel counts kills in a cgroup and does not say of which processes. */
const toKills = (count: number): { seq: number; process: string }[] =>
  Array.from({ length: Math.min(count, MAX_KILLS) }, (_, index) => ({
    seq: Math.max(0, count - MAX_KILLS) + index + 1,
    process: '',
  }));
