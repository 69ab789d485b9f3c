import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dangerousCalls } from './syscalls.ts';

const MIB = 2 ** 20;

/** What a sandbox has at most when the hostile program is to find its ends. */
export const hostileLimits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** What shows the kernel or the host, and what changes it. */
const masked = [
  ...['acpi', 'cmdline', 'config.gz', 'interrupts', 'kallsyms', 'kcore', 'keys', 'kmsg', 'scsi', 'slabinfo'],
  ...['sched_debug', 'timer_list'],
].map((name) => `/proc/${name}`);
const maskedFolders = ['block', 'class/block', 'firmware', 'fs', 'kernel', 'module'].map(
  (name) => `/sys/${name}`,
);
const settings = [
  ...[
    'sys/kernel/core_pattern',
    'sys/kernel/modprobe',
    'sys/vm/drop_caches',
    'sysrq-trigger',
    'irq/default_smp_affinity',
  ],
].map((name) => `/proc/${name}`);

/**
 * Runs a program that tries to reach the host, the kernel or more than it is given, and resolves with the names of what
 * got through, by what the program saw and by what is seen from here. `run` runs a Python text as root inside, with one
 * argument, and resolves with what it printed. With `isEndedAtLimit`, which no program survives, it does not try to take
 * more memory and processes than there are.
 */
export const findThrough = async (
  run: (program: string, argument: string) => Promise<string>,
  { isEndedAtLimit = false }: { isEndedAtLimit?: boolean } = {},
): Promise<string[]> => {
  const [secret, tag] = [randomUUID(), randomUUID()];
  const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
  const marker = join(folder, 'marker');
  const socket = `hostile-${tag}`;
  const server = createServer((client) => client.end(secret)).listen(`\0${socket}`);
  const bystander = spawn('sleep', ['60', `0.${process.pid}`], { stdio: 'ignore' });
  try {
    await Promise.all([writeFile(marker, secret), once(server, 'listening'), once(bystander, 'spawn')]);
    const program = await readFile(new URL('./hostile.py', import.meta.url), 'utf8');
    const calls = Object.entries(dangerousCalls).map(([name, [x64, arm64]]) => [
      name,
      arch() === 'arm64' ? arm64 : x64,
    ]);
    const given = {
      ...{ tag, marker, socket, pid: bystander.pid, settings, masked: [...masked, ...maskedFolders] },
      calls: Object.fromEntries(calls),
      isEndedAtLimit,
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
      'end a process of the host': bystander.signalCode !== null,
    };
    const inside = Object.entries(seen).filter(([name, saw]) => saw.includes(shown[name] ?? 'through'));
    const names = [...inside, ...Object.entries(outside).filter(([, is]) => is)].map(([name]) => name);
    return names.sort();
  } finally {
    bystander.kill('SIGKILL');
    server.close();
    await rm(folder, { recursive: true });
  }
};

const FIRST_SANDBOX_ID = 100_000;

/** Who the host takes the program's processes for, as long as it runs. A kernel of its own shows none. */
const collectOwners = async (tag: string, running: Promise<unknown>): Promise<number[]> => {
  const owners = new Set<number>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  running.then(end, end);
  while (!isOver) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    for (const pid of pids) {
      // A process may be gone by now.
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (!command.includes(tag)) continue;
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      const uid = /^Uid:\s+(\d+)/m.exec(status)?.[1];
      if (uid !== undefined) owners.add(Number(uid));
    }
    await sleep(100);
  }
  return [...owners];
};
