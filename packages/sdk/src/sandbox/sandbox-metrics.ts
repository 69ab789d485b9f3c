import type { components } from '@skerry/platform-client';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';

/** The usage of a sandbox at one moment. */
export interface SandboxMetric {
  timestamp: Date;
  cpuCount: number;
  /** Since the previous sample; 100 when all its cores were busy. */
  cpuUsedPct: number;
  memoryUsedBytes: number;
  memoryTotalBytes: number;
  /** The page cache. */
  memoryCacheBytes: number;
  diskUsedBytes: number;
  diskTotalBytes: number;
}

export interface MetricsOptions extends CallOptions {
  /** Default: the creation of the sandbox. Rounded to whole seconds. */
  start?: Date | undefined;
  /** Default: now. */
  end?: Date | undefined;
}

/**
 * Requests the samples of one sandbox.
 *
 * @internal
 */
export async function getSandboxMetrics(
  connection: Connection,
  sandboxId: string,
  options: MetricsOptions,
): Promise<SandboxMetric[]> {
  const { start, end } = options;
  const { data } = await callApi(connection, options, (api, signal) =>
    api.GET('/sandboxes/{sandboxID}/metrics', {
      params: {
        path: { sandboxID: sandboxId },
        query: {
          ...(start === undefined ? {} : { start: toSeconds(start) }),
          ...(end === undefined ? {} : { end: toSeconds(end) }),
        },
      },
      signal,
    }),
  );
  return data.map(toSandboxMetric);
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

function toSandboxMetric(metric: components['schemas']['SandboxMetric']): SandboxMetric {
  return {
    timestamp: new Date(metric.timestamp),
    cpuCount: metric.cpuCount,
    cpuUsedPct: metric.cpuUsedPct,
    memoryUsedBytes: metric.memUsed,
    memoryTotalBytes: metric.memTotal,
    memoryCacheBytes: metric.memCache,
    diskUsedBytes: metric.diskUsed,
    diskTotalBytes: metric.diskTotal,
  };
}
