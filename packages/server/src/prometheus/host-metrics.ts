import { cpus, freemem, totalmem } from 'node:os';
import { measureHost, type RemoteRuntime } from '@skerry/runtime';
import { readRoom } from '@skerry/runtime/room';
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from './open-metrics.ts';

/** A machine that makes sandboxes. */
export interface MeasuredHost {
  /** The runtime of the helper that makes sandboxes. */
  runtime: Pick<RemoteRuntime, 'transport'>;
  dataDir: string;
  /** How often the helper has ended by itself. */
  helperFaults(): number;
  /** The epoch of the server that owns this node, undefined before there is one; absent where this machine is no node. */
  epoch?: () => number | undefined;
}

/** Adds what the machine has and its sandboxes take. */
export function addHostMetrics({ registry, onScrape }: Metrics, host: MeasuredHost): void {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const memory = gauge('skerry_host_memory_bytes', 'Memory of the machine.');
  const memoryUsed = gauge(
    'skerry_host_memory_used_bytes',
    'Memory that programs of the machine cannot get now.',
  );
  const processors = gauge('skerry_host_cpus', 'Processors of the machine.');
  const busy = new Counter({
    name: 'skerry_host_cpu_busy_seconds_total',
    help: 'Time that the processors of the machine have worked, all together.',
    registers,
  });
  const disk = gauge('skerry_host_disk_bytes', 'Size of the file system of the data folder.');
  const diskFree = gauge('skerry_host_disk_free_bytes', 'What is free there.');
  const faults = new Counter({
    name: 'skerry_helper_faults_total',
    help: 'How often the helper, which makes sandboxes, has ended by itself.',
    registers,
  });
  const epoch =
    host.epoch &&
    gauge('skerry_host_epoch', 'Epoch of the server that owns this node; it rises with each owner.');
  const sandboxes = new Gauge({
    name: 'skerry_host_sandboxes',
    help: 'Sandboxes on the machine, also those that are started in advance.',
    labelNames: ['state'],
    registers,
  });
  const reservedMemory = gauge(
    'skerry_host_reserved_memory_bytes',
    'Limits of the sandboxes that run, together.',
  );
  const reservedProcessors = gauge('skerry_host_reserved_cpus', 'The same of their processors.');
  const starts = gauge('skerry_host_starts_under_way', 'Starts of sandboxes that have a turn.');
  const waiting = gauge('skerry_host_starts_waiting', 'Starts of sandboxes that wait for a turn.');
  const fromHelper = [reservedMemory, reservedProcessors, starts, waiting];

  onScrape(async () => {
    memory.set(totalmem());
    memoryUsed.set(totalmem() - freemem());
    processors.set(cpus().length);
    setTotal(busy, busySeconds());
    const room = readRoom(host.dataDir);
    disk.set(room.sizeBytes);
    diskFree.set(room.freeBytes);
    setTotal(faults, host.helperFaults());
    epoch?.remove();
    const owner = host.epoch?.();
    if (owner !== undefined) epoch?.set(owner);
    // Left out while the helper does not answer.
    for (const one of fromHelper) one.remove();
    sandboxes.reset();
    const load = await measureHost(host.runtime.transport);
    sandboxes.set({ state: 'running' }, load.running);
    sandboxes.set({ state: 'paused' }, load.paused);
    reservedMemory.set(load.memoryBytes);
    reservedProcessors.set(load.cpuCount);
    starts.set(load.startsUnderWay);
    waiting.set(load.startsWaiting);
  });
}

/** Counters of the library only rise; this one is counted elsewhere. */
const setTotal = (counter: Counter, total: number): void => {
  counter.reset();
  counter.inc(total);
};

const busySeconds = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1_000;
