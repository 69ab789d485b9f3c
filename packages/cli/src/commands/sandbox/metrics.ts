import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, NotFoundError, Sandbox, type SandboxMetric } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; watch?: boolean };

/** The service takes a sample every 5 seconds. */
const WATCH_MS = 5_000;

/** `skerry sandbox metrics ID`: one line a sample, oldest first, or one JSON object a line. */
export function sandboxMetricsCommand(): Command {
  return withConnectionFlags(
    new Command('metrics')
      .description('show the resource usage of a sandbox')
      .argument('<id>', 'id of the sandbox')
      .option('-w, --watch', 'go on until the sandbox has ended')
      .option('--json', 'one JSON object a line'),
  ).action(async (id: string, flags: Flags) => {
    for await (const metric of readMetrics(id, await resolveConnection(flags), flags.watch ?? false)) {
      if (flags.json) printJson(metric);
      else printLine(toLine(metric));
    }
  });
}

async function* readMetrics(
  id: string,
  connection: ConnectionOptions,
  watch: boolean,
): AsyncGenerator<SandboxMetric> {
  let last = 0;
  for (;;) {
    // Before the samples are read: the last of a sandbox that ends in between are still shown.
    const lives = watch && (await isAlive(id, connection));
    const metrics = await Sandbox.getMetrics(id, connection);
    yield* metrics.filter(({ timestamp }) => +timestamp > last);
    last = +(metrics.at(-1)?.timestamp ?? last);
    if (!lives) return;
    await delay(WATCH_MS);
  }
}

async function isAlive(id: string, connection: ConnectionOptions): Promise<boolean> {
  try {
    await Sandbox.getInfo(id, connection);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
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
