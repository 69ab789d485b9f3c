import { cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  kernel: string;
  /** The average number of runnable processes in the last minute: more than a few distort every figure. */
  load: number;
  node: string;
}

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown processor',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
    node: process.versions.node,
  };
}
