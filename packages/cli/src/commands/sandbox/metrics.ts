import { Sandbox, type SandboxMetric } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';

/** `skerry sandbox metrics ID`: one line a sample, oldest first, or one JSON object a line. */
export function sandboxMetricsCommand(): Command {
  return withConnectionFlags(
    new Command('metrics')
      .description('show what a sandbox has used')
      .argument('<id>', 'id of the sandbox')
      .option('--json', 'one JSON object a line'),
  ).action(async (id: string, flags: Parameters<typeof resolveConnection>[0] & { json?: boolean }) => {
    for (const metric of await Sandbox.getMetrics(id, resolveConnection(flags))) {
      process.stdout.write(`${flags.json ? JSON.stringify(metric) : toLine(metric)}\n`);
    }
  });
}

function toLine(metric: SandboxMetric): string {
  const cpu = `${metric.cpuUsedPct.toFixed(1)}% of ${metric.cpuCount}`;
  const memory = `${toMib(metric.memoryUsedBytes)} of ${toMib(metric.memoryTotalBytes)} MiB`;
  const disk = `${toMib(metric.diskUsedBytes)} of ${toMib(metric.diskTotalBytes)} MiB`;
  return `${metric.timestamp.toISOString()}  cpu ${cpu}  memory ${memory}  disk ${disk}`;
}

function toMib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
