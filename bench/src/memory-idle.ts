import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import { toRow } from './row.ts';

/** Sandboxes that idle beside each other; shared pages are divided among those who share them. */
const SANDBOXES = 20;
/** What a sandbox still allocates after its create has been answered. */
const SETTLE_MS = 3_000;

/** Proportional set size of everything that runs in a sandbox, for each of 20 idle ones. */
export const memoryIdle: Benchmark = async ({ name, stack }) => {
  const sandboxes = [];
  for (let index = 0; index < SANDBOXES; index += 1) sandboxes.push(await stack.createSandbox());
  await delay(SETTLE_MS);
  const samples = sandboxes.map(({ sandboxId }) => pssBytesOf(sandboxId) / 2 ** 20);
  await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  return [toRow({ name, unit: 'MiB', samples })];
};

/** Sum over the processes whose cgroup is named after the sandbox. */
function pssBytesOf(sandboxId: string): number {
  const pids = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readOrEmpty(`/proc/${name}/cgroup`).includes(sandboxId),
  );
  if (pids.length === 0) throw new Error(`no process of sandbox ${sandboxId} found`);
  return pids
    .map((pid) => /^Pss:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/smaps_rollup`))?.[1] ?? '0')
    .reduce((sum, kilobytes) => sum + Number(kilobytes) * 1024, 0);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has just ended.
  }
}
