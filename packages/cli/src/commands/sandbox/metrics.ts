import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, NotFoundError, Sandbox, type SandboxMetric } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; watch?: boolean };

/** The service takes a sample every 5 seconds. */
const WATCH_MS = 5_000;

/** `skerry sandbox metrics ID`: a table with a row for each sample, oldest first, or one JSON object a line. */
export function sandboxMetricsCommand(): Command {
  return withConnectionFlags(
    new Command('metrics')
      .description('show the resource usage of a sandbox')
      .argument('<id>', 'id of the sandbox')
      .option('-w, --watch', 'go on until the sandbox has ended')
      .option('--json', 'one JSON object a line'),
  ).action(async (id: string, flags: Flags) => {
    const { connection, ...found } = await findReference('sandbox', id, flags);
    if (!flags.json) printLine(toRow(HEAD));
    for await (const metric of readMetrics(found.id, connection, flags.watch ?? false)) {
      if (flags.json) printJson(metric);
      else printLine(toRow(toCells(metric)));
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

const HEAD = ['TIME', 'CPU', 'MEMORY', 'DISK'] as const;

/** Rows come one by one, so columns are as wide as the largest values of a sandbox. */
const WIDTHS = [24, 15, 19, 0] as const;

const toRow = (cells: readonly string[]): string =>
  cells.map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0)).join('  ');

function toCells(metric: SandboxMetric): string[] {
  return [
    metric.timestamp.toISOString(),
    `${metric.cpuUsedPct.toFixed(1)} % of ${metric.cpuCount}`,
    `${toMib(metric.memoryUsedBytes)} of ${toMib(metric.memoryTotalBytes)} MiB`,
    `${toMib(metric.diskUsedBytes)} of ${toMib(metric.diskTotalBytes)} MiB`,
  ];
}

function toMib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
