import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ProgramEnd, startProgram } from '../kernel/start-program.ts';
import { dangerousCalls } from './syscalls.ts';

const MIB = 2 ** 20;

/** The limits of a sandbox in which the hostile program tries to exceed them. */
export const hostileLimits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** Files that expose or change the kernel or the host. */
const masked = [
  ...['acpi', 'cmdline', 'config.gz', 'interrupts', 'kallsyms', 'kcore', 'keys', 'kmsg', 'scsi', 'slabinfo'],
  ...['sched_debug', 'timer_list', 'diskstats', 'partitions', 'mdstat', 'swaps', 'fs', 'fs/ext4', 'fs/jbd2'],
  ...['bus', 'bus/pci', 'bus/pci/devices', 'driver', 'tty/driver', 'irq', 'iomem', 'ioports', 'dma', 'mtrr'],
  ...['buddyinfo', 'zoneinfo', 'pagetypeinfo', 'vmallocinfo', 'softirqs', 'schedstat', 'pressure', 'modules'],
  ...['consoles', 'dynamic_debug'],
].map((name) => `/proc/${name}`);
const maskedFolders = [
  ...['block', 'bus', 'class/block', 'devices/pci0000:00', 'firmware', 'fs', 'kernel', 'module'],
].map((name) => `/sys/${name}`);
const settings = [
  ...[
    'sys/kernel/core_pattern',
    'sys/kernel/modprobe',
    'sys/vm/drop_caches',
    'sysrq-trigger',
    'irq/default_smp_affinity',
  ],
].map((name) => `/proc/${name}`);

/** What came of one attempt of the hostile program. */
export interface Attempt {
  name: string;
  succeeded: boolean;
  /** `refused` and an error of the system, `held`, `through`, or what the program saw, at most 100 characters. */
  answer: string;
}

interface HostileOptions {
  /** When a sandbox ends at its limits: it does not try to exceed memory and processes. */
  isEndedAtLimit?: boolean;
  /** Whether it tries to exceed `hostileLimits` at all. Default: true. */
  exceedsLimits?: boolean;
}

/** The names of the attempts of `tryHostile` that succeeded. */
export const findThrough = async (
  run: (program: string, argument: string) => Promise<string>,
  options: HostileOptions = {},
): Promise<string[]> =>
  (await tryHostile(run, options)).filter(({ succeeded }) => succeeded).map(({ name }) => name);

/**
 * Runs a program that tries to reach the host, the kernel or more than its limits, and resolves with what came of each
 * attempt, as seen by the program and from here. `run` runs a Python text inside, with one argument, and resolves with
 * its output.
 */
export const tryHostile = async (
  run: (program: string, argument: string) => Promise<string>,
  { isEndedAtLimit = false, exceedsLimits = true }: HostileOptions = {},
): Promise<Attempt[]> => {
  const [secret, tag] = [randomUUID(), randomUUID()];
  const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
  const marker = join(folder, 'marker');
  const socket = `hostile-${tag}`;
  const server = createServer((client) => client.end(secret)).listen(`\0${socket}`);
  const bystander = startProgram({
    file: 'sleep',
    args: ['60', `0.${process.pid}`],
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  let bystanderEnd: ProgramEnd | undefined;
  void bystander.ended.then((end) => {
    bystanderEnd = end;
  });
  try {
    await Promise.all([writeFile(marker, secret), once(server, 'listening')]);
    const program = await readFile(new URL('./hostile.py', import.meta.url), 'utf8');
    const calls = Object.entries(dangerousCalls).flatMap(([name, [x64, arm64]]) => {
      const number = arch() === 'arm64' ? arm64 : x64;
      return number === undefined ? [] : [[name, number] as const];
    });
    const given = {
      ...{ tag, marker, socket, pid: bystander.pid, settings, masked: [...masked, ...maskedFolders] },
      calls: Object.fromEntries(calls),
      isEndedAtLimit,
      exceedsLimits,
      processes: 2 * hostileLimits.processCount,
      memoryBytes: 2 * hostileLimits.memoryBytes,
      diskBytes: 2 * hostileLimits.diskBytes,
    };
    const running = run(program, JSON.stringify(given));
    const owners = await collectOwners(tag, running);
    const seen = JSON.parse(await running) as Record<string, string>;
    const shown = {
      'read a file of the host': secret,
      'call a socket of the host': secret,
      'see a socket of the host': socket,
      'see a process of the host': `0.${process.pid}\0`,
      'read the boot id of the host': await readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    } as Record<string, string>;
    const outside = {
      'be a user of the host': owners.some((uid) => uid < FIRST_SANDBOX_ID),
      'end a process of the host': bystanderEnd !== undefined,
    };
    const attempts = Object.entries(seen).map(([name, saw]) => {
      const succeeded = saw.includes(shown[name] ?? 'through');
      return { name, succeeded, answer: saw.slice(0, 100) };
    });
    const fromOutside = Object.entries(outside).map(([name, succeeded]) => ({
      name,
      succeeded,
      answer: succeeded ? 'through' : 'held',
    }));
    const isSeenOutside = ({ name }: Attempt): boolean => name in outside;
    return [...attempts.filter((attempt) => !isSeenOutside(attempt)), ...fromOutside].sort((one, other) =>
      one.name < other.name ? -1 : 1,
    );
  } finally {
    bystander.kill();
    server.close();
    await rm(folder, { recursive: true });
  }
};

const FIRST_SANDBOX_ID = 100_000;

/** The owners of the program's processes as seen by the host, as long as it runs. A sentry shows none. */
const collectOwners = async (tag: string, running: Promise<unknown>): Promise<number[]> => {
  const owners = new Set<number>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  running.then(end, end);
  while (!isOver) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const uid = readOwner(pid, tag);
      if (uid !== undefined) owners.add(uid);
    }
    await sleep(20);
  }
  return [...owners];
};

/** The owner of a process whose arguments contain `tag`. Synchronous: a look at all processes is then over before the program ends. */
const readOwner = (pid: string, tag: string): number | undefined => {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(tag)) return undefined;
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return uid === undefined ? undefined : Number(uid);
  } catch {
    return undefined; // The process has ended.
  }
};
